// One onnxruntime session: token ids → pooled hidden states. `run` blocks its thread, so this lives in the encoder
// process (process.ts). Contract of the model file: inputs input_ids, attention_mask and, for decoders,
// past_key_values.<l>.key|value with past = 0; outputs hidden_states.<k> [batch, sequence, hidden].
import { InferenceSession, Tensor } from "onnxruntime-node";
import { JudgeError } from "../../errors.js";
import { type PooledKey, pooledKey } from "../../features/pooled.js";
import { type PoolingMode, pool } from "../../features/pooling.js";

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
   * @returns per text the pooled vectors
   */
  run(
    batch: readonly (readonly number[])[],
    wanted: Wanted,
    padding?: Padding,
  ): Promise<Map<PooledKey, Float32Array>[]>;
  close(): Promise<void>;
}

export interface Padding {
  readonly side: "left" | "right";
  readonly padId: number;
}

const outputPrefix = "hidden_states.";

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
    });
  } catch (error) {
    throw new JudgeError(
      "encoder",
      "model.onnx cannot be loaded by onnxruntime: damaged, or made for another version",
      {
        cause: error,
      },
    );
  }
  const { layers, hiddenSize } = readContract(session);
  const pastInputs = session.inputMetadata.filter((input) => input.name.startsWith("past_key_values."));

  return {
    hiddenSize,
    layers,
    async run(batch, wanted, padding = { side: "right", padId: 0 }) {
      const sequence = Math.max(...batch.map((ids) => ids.length));
      const { inputIds, mask } = pad(batch, sequence, padding);
      const feeds: Record<string, Tensor> = {
        input_ids: new Tensor("int64", inputIds, [batch.length, sequence]),
        attention_mask: new Tensor("int64", BigInt64Array.from(mask, BigInt), [batch.length, sequence]),
      };
      for (const input of pastInputs) feeds[input.name] = emptyPast(input, batch.length);
      const outputs = await session.run(
        feeds,
        wanted.layers.map((layer) => `${outputPrefix}${layer}`),
      );
      const pooled = batch.map(() => new Map<PooledKey, Float32Array>());
      for (const layer of wanted.layers) {
        const output = outputs[`${outputPrefix}${layer}`]!;
        const states = output.data as Float32Array;
        for (const mode of wanted.pooling) {
          pooled.forEach((vectors, row) => {
            vectors.set(pooledKey(layer, mode), pool(states, mask, { sequence, hiddenSize }, row, mode));
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
  const outputs = session.outputMetadata.filter((output) => /^hidden_states\.\d+$/.test(output.name));
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
  const layers = outputs.map((output) => Number(output.name.slice(outputPrefix.length)));
  return { layers: layers.sort((a, b) => a - b), hiddenSize };
}

function pad(
  batch: readonly (readonly number[])[],
  sequence: number,
  { side, padId }: Padding,
): { inputIds: BigInt64Array; mask: Uint8Array } {
  const inputIds = new BigInt64Array(batch.length * sequence).fill(BigInt(padId));
  const mask = new Uint8Array(batch.length * sequence);
  batch.forEach((ids, row) => {
    const start = row * sequence + (side === "left" ? sequence - ids.length : 0);
    ids.forEach((id, index) => {
      inputIds[start + index] = BigInt(id);
    });
    mask.fill(1, start, start + ids.length);
  });
  return { inputIds, mask };
}

function emptyPast(input: InferenceSession.ValueMetadata, batchSize: number): Tensor {
  if (!input.isTensor) throw new JudgeError("encoder", `model.onnx: input ${input.name} is not a tensor`);
  const shape = input.shape.map((size, axis) =>
    typeof size === "number" ? size : axis === 0 ? batchSize : 0,
  );
  return new Tensor("float32", new Float32Array(0), shape);
}
