// The start that all texts of a view share: a decoder runs it once, then takes it as past keys and values.
import { type InferenceSession, Tensor } from "onnxruntime-node";
import { type PooledKey, pooledKey } from "../../../features/pooled.js";
import { createPooler, type Pooler, type PoolingMode, poolingModes } from "../../../features/pooling.js";
import { checkShape } from "./contract.js";
import { feedExtra } from "./extra-inputs.js";
import { outputName } from "./hidden-states.js";

export interface Prefix {
  /** tokens */
  readonly length: number;
  /** A pooler that has taken the prefix's hidden states of one of the layers. */
  pooler(layer: number, mode: PoolingMode): Pooler;
  /** the past inputs of a batch */
  past(batchSize: number): Record<string, Tensor>;
}

export interface Prefixes {
  /** The prefix with those hidden states, run at its first use. */
  find(ids: readonly number[], layers: readonly number[]): Promise<Prefix>;
}

/** null when the model does not take past keys and values, or does not give them */
export function createPrefixes(session: InferenceSession): Prefixes | null {
  const pastInputs = session.inputNames.filter((name) => name.startsWith("past_key_values."));
  const presentOf = (input: string) => input.replace("past_key_values.", "present.");
  if (pastInputs.length === 0 || !pastInputs.every((name) => session.outputNames.includes(presentOf(name))))
    return null;
  const known = new Map<string, Promise<Prefix>>();

  async function run(ids: readonly number[], layers: readonly number[]): Promise<Prefix> {
    const shape = [1, ids.length];
    const mask = new Tensor("int64", new BigInt64Array(ids.length).fill(1n), shape);
    const feeds: Record<string, Tensor> = {
      input_ids: new Tensor("int64", BigInt64Array.from(ids, BigInt), shape),
      attention_mask: mask,
      ...emptyPast(session, 1),
      ...feedExtra(session.inputNames, mask, ids.length),
    };
    const outputs = await session.run(feeds, [...layers.map(outputName), ...pastInputs.map(presentOf)]);
    for (const layer of layers) {
      const { dims } = outputs[outputName(layer)]!;
      checkShape(outputName(layer), dims, [1, ids.length, dims[2]!]);
    }
    const rows = pastInputs.map((name) => {
      const present = outputs[presentOf(name)]!;
      const [, heads, , size] = present.dims as [number, number, number, number];
      checkShape(presentOf(name), present.dims, [1, heads, ids.length, size]);
      return { name, dims: present.dims.slice(1), row: (present.data as Float32Array).slice() };
    });
    const poolers = new Map<PooledKey, Pooler>();
    for (const layer of layers) {
      const values = outputs[outputName(layer)]!.data as Float32Array;
      const hiddenSize = values.length / ids.length;
      for (const mode of poolingModes) {
        const pooler = createPooler(mode, hiddenSize);
        pooler.addRows({ values, table: null, start: 0, stride: hiddenSize, count: ids.length });
        poolers.set(pooledKey(layer, mode), pooler);
      }
    }
    for (const output of Object.values(outputs)) output.dispose();
    return {
      length: ids.length,
      pooler: (layer, mode) => poolers.get(pooledKey(layer, mode))!.copy(),
      past: repeated(rows),
    };
  }

  return {
    find(ids, layers) {
      const key = `${ids.join()} ${layers.join()}`;
      const found = known.get(key) ?? run(ids, layers);
      known.set(key, found);
      found.catch(() => known.delete(key));
      return found;
    },
  };
}

/** Past inputs of length 0, which a decoder wants where it has no prefix; none where it takes none. */
export function emptyPast(session: InferenceSession, batchSize: number, length = 0): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = {};
  for (const input of session.inputMetadata) {
    if (!input.name.startsWith("past_key_values.") || !input.isTensor) continue;
    const shape = input.shape.map((size, axis) =>
      typeof size === "number" ? size : axis === 0 ? batchSize : length,
    );
    const size = shape.reduce((product, extent) => product * extent, 1);
    feeds[input.name] = new Tensor("float32", new Float32Array(size), shape);
  }
  return feeds;
}

/** Each row once for each text of the largest batch so far. Smaller batches take the start of it. */
function repeated(rows: readonly { name: string; dims: readonly number[]; row: Float32Array }[]) {
  let largest = 0;
  let copies: Float32Array[] = [];
  return (batchSize: number): Record<string, Tensor> => {
    if (batchSize > largest) {
      largest = batchSize;
      copies = rows.map(({ row }) => {
        const data = new Float32Array(row.length * batchSize);
        for (let copy = 0; copy < batchSize; copy++) data.set(row, copy * row.length);
        return data;
      });
    }
    return Object.fromEntries(
      rows.map(({ name, dims, row }, index) => {
        const data = copies[index]!.subarray(0, row.length * batchSize);
        return [name, new Tensor("float32", data, [batchSize, ...dims])];
      }),
    );
  };
}
