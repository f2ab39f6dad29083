// One onnxruntime session: token ids → pooled hidden states. `run` blocks its thread, so this lives in the encoder
// process (process.ts). Contract of the model file: inputs input_ids, attention_mask and, for decoders,
// past_key_values.<l>.key|value; outputs hidden_states.<k> [batch, sequence, hidden] and, for decoders that are to
// remember a prefix, present.<l>.key|value.
import { env, InferenceSession, Tensor } from "onnxruntime-node";
import { JudgeError } from "../../errors.js";
import { type PooledKey, pooledKey } from "../../features/pooled.js";
import { type PoolingMode, pool } from "../../features/pooling.js";
import { layerOf, outputName } from "./hidden-states.js";
import { createPrefixes, emptyPast } from "./prefix.js";

export interface Wanted {
  readonly layers: readonly number[];
  readonly pooling: readonly PoolingMode[];
}

export interface OnnxSession {
  readonly hiddenSize: number;
  /** hidden-state indices the model file gives */
  readonly layers: readonly number[];
  /**
   * One forward over a batch, padded on `side` with token `padId`.
   *
   * @param batch token ids, at least one per text
   * @param prefix ids that every text of the batch starts with and exceeds: where the model can, they are run only once
   *   (with padding on the right)
   * @returns per text the pooled vectors
   */
  run(
    batch: readonly (readonly number[])[],
    wanted: Wanted,
    padding?: Padding,
    prefix?: readonly number[],
  ): Promise<Map<PooledKey, Float32Array>[]>;
  close(): Promise<void>;
}

export interface Padding {
  readonly side: "left" | "right";
  readonly padId: number;
}

/** The library, with the version that is loaded. */
export const runtime = `onnxruntime-node ${env.versions.node}`;

/**
 * How long onnxruntime's threads look for work before they sleep. Its own choice, some 40 ms, takes 56 ms of processor time
 * for a forward of 12 when requests come now and then, and the processor from everybody else; with this it takes 17, a spaced
 * request is answered in 11.6 instead of 13.3 ms, and back to back nothing changes.
 */
const spinMicroseconds = "200";

/**
 * onnxruntime joins a residual's sum and its layer norm into one operator, SkipLayerNormalization, whose kernel is not
 * vectorised: 0.77 ms for 400 × 384 values, where sum and norm by themselves take 0.15. Without it a forward of MiniLM takes
 * 0.92 to 0.94 of the time; its values move by at most 4e-6.
 */
const slowerFusions = "SkipLayerNormFusion";

/**
 * @param threads intra-op threads
 * @throws JudgeError `encoder` when the file is not a model of the contract
 */
export async function loadSession(modelFile: string, threads: number): Promise<OnnxSession> {
  let session: InferenceSession;
  try {
    session = await InferenceSession.create(modelFile, {
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      graphOptimizationLevel: "all",
      logSeverityLevel: 4,
      extra: {
        session: { intra_op: { spin_duration_us: spinMicroseconds } },
        optimization: { disable_specified_optimizers: slowerFusions },
      },
    });
  } catch (error) {
    throw new JudgeError(
      "encoder",
      "model.onnx cannot be loaded by onnxruntime: damaged, or made for another version; restore it from the encoder's original files",
      {
        cause: error,
      },
    );
  }
  const { layers, hiddenSize } = readContract(session);
  const prefixes = createPrefixes(session);

  return {
    hiddenSize,
    layers,
    async run(batch, wanted, padding = { side: "right", padId: 0 }, prefixIds = []) {
      const usable = prefixIds.length > 0 && padding.side === "right";
      const prefix = usable ? ((await prefixes?.find(prefixIds, wanted.layers)) ?? null) : null;
      const past = prefix?.length ?? 0;
      const sequence = Math.max(...batch.map((ids) => ids.length)) - past;
      const { inputIds, mask } = pad(batch, { past, sequence }, padding);
      const feeds: Record<string, Tensor> = {
        input_ids: new Tensor("int64", inputIds, [batch.length, sequence]),
        attention_mask: attentionMask(mask, { past, sequence }),
        ...(prefix?.past(batch.length) ?? emptyPast(session, batch.length)),
      };
      const outputs = await session.run(feeds, wanted.layers.map(outputName));
      const pooled = batch.map(() => new Map<PooledKey, Float32Array>());
      for (const layer of wanted.layers) {
        const output = outputs[outputName(layer)]!;
        const states = output.data as Float32Array;
        const before = prefix && { tokens: past, sums: prefix.sums.get(layer)! };
        const shape = { sequence, hiddenSize };
        for (const mode of wanted.pooling) {
          pooled.forEach((vectors, row) => {
            vectors.set(pooledKey(layer, mode), pool(states, mask, shape, { row, mode, before }));
          });
        }
        output.dispose();
      }
      return pooled;
    },
    close: () => session.release(),
  };
}

function readContract(session: InferenceSession): { layers: number[]; hiddenSize: number } {
  const inputs = new Set(session.inputNames);
  const outputs = session.outputMetadata.filter(({ name }) => layerOf(name) !== null);
  const unknown = session.inputNames.filter(
    (name) => !/^(input_ids|attention_mask|past_key_values\.\d+\.(key|value))$/.test(name),
  );
  if (
    !inputs.has("input_ids") ||
    !inputs.has("attention_mask") ||
    outputs.length === 0 ||
    unknown.length > 0
  ) {
    throw new JudgeError(
      "encoder",
      "model.onnx has other inputs or outputs than wanted: inputs input_ids, attention_mask and optionally past_key_values.N.key|value, outputs hidden_states.N; export it with those names",
    );
  }
  const sizes = new Set<unknown>();
  for (const output of outputs) {
    if (!output.isTensor || output.type !== "float32") {
      throw new JudgeError("encoder", `model.onnx: output ${output.name} is not float32`);
    }
    sizes.add(output.shape[2]);
  }
  const [hiddenSize] = sizes;
  if (sizes.size !== 1 || typeof hiddenSize !== "number") {
    throw new JudgeError(
      "encoder",
      "model.onnx: the hidden_states outputs do not have one fixed hidden size",
    );
  }
  const layers = outputs.map(({ name }) => layerOf(name)!);
  return { layers: layers.sort((a, b) => a - b), hiddenSize };
}

/** The ids after `past`, and a mask [batch, sequence] of those that are no padding. */
function pad(
  batch: readonly (readonly number[])[],
  { past, sequence }: { past: number; sequence: number },
  { side, padId }: Padding,
): { inputIds: BigInt64Array; mask: Uint8Array } {
  const inputIds = new BigInt64Array(batch.length * sequence).fill(BigInt(padId));
  const mask = new Uint8Array(batch.length * sequence);
  batch.forEach((ids, row) => {
    const size = ids.length - past;
    const start = row * sequence + (side === "left" ? sequence - size : 0);
    for (let index = 0; index < size; index++) inputIds[start + index] = BigInt(ids[past + index]!);
    mask.fill(1, start, start + size);
  });
  return { inputIds, mask };
}

/** [batch, past + sequence]: the past is of every text */
function attentionMask(mask: Uint8Array, { past, sequence }: { past: number; sequence: number }): Tensor {
  const batchSize = mask.length / sequence;
  const values = new BigInt64Array(batchSize * (past + sequence)).fill(1n);
  for (let row = 0; row < batchSize; row++) {
    for (let index = 0; index < sequence; index++) {
      if (mask[row * sequence + index] === 0) values[row * (past + sequence) + past + index] = 0n;
    }
  }
  return new Tensor("int64", values, [batchSize, past + sequence]);
}
