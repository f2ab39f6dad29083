// One onnxruntime session: token ids → pooled hidden states. `run` blocks its thread, so this lives in the
// encoder process (process.ts). Contract of the model file: inputs input_ids, attention_mask and, for
// decoders, past_key_values.<l>.key|value; outputs hidden_states.<k> [batch, sequence, hidden] and, for
// decoders that are to remember a prefix, present.<l>.key|value.
import { env, InferenceSession, Tensor } from "onnxruntime-node";
import { JudgeError } from "../../../errors.js";
import { type PooledKey, pooledKey, type WantedFeatures } from "../../../features/pooled.js";
import { createPooler } from "../../../features/pooling.js";
import { checkShape, contractAdvice, readContract } from "./contract.js";
import { feedExtra } from "./extra-inputs.js";
import { outputName } from "./hidden-states.js";
import { type Padding, padBatch } from "./padding.js";
import { createPrefixes, emptyPast } from "./prefix.js";
import type { Weights } from "./weights.js";

export interface OnnxSession {
  readonly hiddenSize: number;
  /** hidden-state indices the model file gives */
  readonly layers: readonly number[];
  /**
   * One forward over a batch, padded on `side` with token `padId`.
   * @param batch token ids, at least one per text
   * @param prefix ids that every text of the batch starts with and exceeds: where the model can, they are run
   *   only once (with padding on the right)
   * @returns per text the pooled vectors
   */
  run(
    batch: readonly (readonly number[])[],
    wanted: WantedFeatures,
    padding?: Padding,
    prefix?: readonly number[],
  ): Promise<Map<PooledKey, Float32Array>[]>;
  /** Whether a text of so many tokens runs. A decoder gets all but the last as its past, which is cheap. */
  runs(tokens: number, padId: number): Promise<boolean>;
  close(): Promise<void>;
}

/** The library, with the version that is loaded. */
export const runtime = `onnxruntime-node ${env.versions.node}`;

/** How long onnxruntime's threads look for work before they sleep; its own 40 ms cost others' time. */
const spinMicroseconds = "200";

/** SkipLayerNormalization joins a residual's sum and its layer norm. Its kernel is slow: not vectorised. */
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
    throw new JudgeError("encoder", {
      found: "model.onnx cannot be loaded by onnxruntime: damaged, or made for another version",
      remedy: "restore it from the encoder's original files",
      cause: error,
    });
  }
  const { layers, hiddenSize } = readContract(session);
  const prefixes = createPrefixes(session);
  const loaded: OnnxSession = {
    hiddenSize,
    layers,
    async run(batch, wanted, padding = { side: "right", padId: 0 }, prefixIds = []) {
      const usable = prefixIds.length > 0 && padding.side === "right";
      const prefix = usable ? ((await prefixes?.find(prefixIds, wanted.layers)) ?? null) : null;
      const { inputIds, attentionMask, sequence, tokens } = padBatch(batch, prefix?.length ?? 0, padding);
      const feeds: Record<string, Tensor> = {
        input_ids: inputIds,
        attention_mask: attentionMask,
        ...(prefix?.past(batch.length) ?? emptyPast(session, batch.length)),
        ...feedExtra(session.inputNames, attentionMask, sequence),
      };
      const outputs = await session.run(feeds, wanted.layers.map(outputName));
      const pooled = batch.map(() => new Map<PooledKey, Float32Array>());
      for (const layer of wanted.layers) {
        const output = outputs[outputName(layer)]!;
        checkShape(outputName(layer), output.dims, [batch.length, sequence, hiddenSize]);
        const values = output.data as Float32Array;
        for (const mode of wanted.pooling) {
          tokens.forEach(({ first, count }, row) => {
            const pooler = prefix?.pooler(layer, mode) ?? createPooler(mode, hiddenSize);
            pooler.addRows({ values, table: null, start: first * hiddenSize, stride: hiddenSize, count });
            pooled[row]!.set(pooledKey(layer, mode), pooler.value());
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
      const mask = new Tensor("int64", new BigInt64Array(tokens).fill(1n), [1, tokens]);
      const feeds: Record<string, Tensor> = {
        input_ids: new Tensor("int64", ids, [1, sequence]),
        attention_mask: mask,
        ...past,
        ...feedExtra(session.inputNames, mask, sequence),
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

/** Two short texts, behind a prefix where there is one. All axes differ in size, so none is mistaken. */
async function tryOut({ run, layers }: OnnxSession, hasPrefixes: boolean): Promise<void> {
  const wanted: WantedFeatures = { layers, pooling: ["last"] };
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
    throw new JudgeError("encoder", {
      found: `model.onnx: ${finding}`,
      remedy: contractAdvice,
      cause: error,
    });
  }
}
