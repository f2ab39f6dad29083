// One onnxruntime session: token ids → pooled hidden states. `run` blocks its thread, so this lives in the encoder
// process (process.ts). Contract of the model file: inputs input_ids, attention_mask and, for decoders,
// past_key_values.<l>.key|value; outputs hidden_states.<k> [batch, sequence, hidden] and, for decoders that are to
// remember a prefix, present.<l>.key|value.
import { env, InferenceSession, Tensor } from "onnxruntime-node";
import { JudgeError } from "../../../errors.js";
import { type PooledKey, pooledKey } from "../../../features/pooled.js";
import { type PoolingMode, pool } from "../../../features/pooling.js";
import { checkShape, contractAdvice, readContract } from "./contract.js";
import { outputName } from "./hidden-states.js";
import { createPrefixes, emptyPast } from "./prefix.js";
import type { Weights } from "./weights.js";

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
  /** Whether a text of so many tokens runs. A decoder gets all but the last as its past, which costs next to nothing. */
  runs(tokens: number, padId: number): Promise<boolean>;
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
 * @param weights of every file that the model names; copied
 * @throws JudgeError `encoder` when the file is not a model of the contract
 */
export async function loadSession(
  modelFile: string,
  threads: number,
  weights: readonly Pick<Weights, "path" | "data">[] = [],
): Promise<OnnxSession> {
  let session: InferenceSession;
  try {
    session = await InferenceSession.create(modelFile, {
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      graphOptimizationLevel: "all",
      logSeverityLevel: 4,
      ...(weights.length > 0 && { externalData: weights.map(({ path, data }) => ({ path, data })) }),
      extra: {
        session: { intra_op: { spin_duration_us: spinMicroseconds } },
        optimization: { disable_specified_optimizers: slowerFusions },
      },
    });
  } catch (error) {
    throw new JudgeError(
      "encoder",
      {
        found: "model.onnx cannot be loaded by onnxruntime: damaged, or made for another version",
        remedy: "restore it from the encoder's original files",
      },
      {
        cause: error,
      },
    );
  }
  const { layers, hiddenSize } = readContract(session);
  const prefixes = createPrefixes(session);
  const loaded: OnnxSession = {
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
        checkShape(outputName(layer), output.dims, [batch.length, sequence, hiddenSize]);
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
    async runs(tokens, padId) {
      const past = emptyPast(session, 1, tokens - 1);
      const sequence = Object.keys(past).length > 0 ? 1 : tokens;
      // some models give padding no position
      const ids = new BigInt64Array(sequence).fill(padId === 0 ? 1n : 0n);
      const feeds: Record<string, Tensor> = {
        input_ids: new Tensor("int64", ids, [1, sequence]),
        attention_mask: new Tensor("int64", new BigInt64Array(tokens).fill(1n), [1, tokens]),
        ...past,
      };
      try {
        const outputs = await session.run(feeds, [outputName(layers.at(-1)!)]);
        for (const output of Object.values(outputs)) output.dispose();
        return true;
      } catch {
        return false;
      }
    },
    close: () => session.release(),
  };
  await tryOut(loaded, prefixes !== null);
  return loaded;
}

/**
 * Two texts of up to three tokens, behind a prefix where the model can remember one: the sizes of all axes differ, so that none
 * passes for another.
 */
async function tryOut({ run, layers }: OnnxSession, hasPrefixes: boolean): Promise<void> {
  const wanted: Wanted = { layers, pooling: ["last"] };
  const padding: Padding = { side: "right", padId: 0 };
  const texts = [[0, 0, 0], [0]];
  try {
    if (hasPrefixes) {
      const behind = texts.map((ids) => [0, 0, ...ids]);
      await run(behind, wanted, padding, [0, 0]);
    } else await run(texts, wanted, padding);
  } catch (error) {
    const finding =
      error instanceof JudgeError ? error.message : "it cannot run two texts of three tokens together";
    throw new JudgeError(
      "encoder",
      { found: `model.onnx: ${finding}`, remedy: contractAdvice },
      { cause: error },
    );
  }
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
