// Whether a head can give probabilities at all, asked of every format once it is read. What a reader sees in one tensor alone
// (a value that is not finite, a scale of 0) it refuses itself.
import { JudgeError } from "../errors.js";
import { type PooledVectors, pooledKey } from "../features/pooled.js";
import { calibrate, probabilities } from "../head/head.js";
import type { FeatureBlock, HeadWeights } from "../head/weights.js";

/** @throws JudgeError `checkpoint` naming the first output that cannot get a probability between 0 and 1 */
export function checkHead(head: HeadWeights): void {
  const raw = probabilities(head, meanOfTraining(head.blocks));
  const calibrated = calibrate(head, raw);
  head.outputNames.forEach((name, output) => {
    const platt = head.calibration[output];
    if (platt?.slope === 0) {
      throw new JudgeError("checkpoint", {
        found: `the calibration of output "${name}" has slope 0, with which all texts get one probability`,
        remedy: "train it again, or set it to null",
      });
    }
    const finding = outside(raw[output]!) ?? outside(calibrated[output]!);
    if (finding === null) return;
    const part = outside(raw[output]!) === null ? "the calibration" : "the weights";
    throw new JudgeError("checkpoint", {
      found: `output "${name}" comes to ${finding} for the mean of its training by ${part}`,
      wanted: "a probability between 0 and 1",
      remedy: "the file is damaged, or the training failed: restore it or train again",
    });
  });
}

function outside(p: number): string | null {
  return p > 0 && p < 1 ? null : String(p);
}

/** Hidden states for which every scaler gives zeros. */
function meanOfTraining(blocks: readonly FeatureBlock[]): PooledVectors {
  const vectors = new Map<ReturnType<typeof pooledKey>, Float32Array>();
  for (const { layers, pooling, hiddenSize, scalerMean, combination } of blocks) {
    layers.forEach((layer, position) => {
      const start = position * hiddenSize;
      const vector =
        combination.kind === "concat"
          ? scalerMean.slice(start, start + hiddenSize)
          : scalerMean.map(
              (mean, index) =>
                combination.layerMean[start + index]! + mean * combination.layerScale[start + index]!,
            );
      vectors.set(pooledKey(layer, pooling), vector);
    });
  }
  return vectors;
}
