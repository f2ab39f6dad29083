// Checks whether a head can give probabilities at all, once a reader of any format has built it. A fault that
// shows in one tensor alone (a value that is not finite, a scale of 0) is refused by the reader.
import { JudgeError } from "../errors.js";
import { type PooledVectors, pooledKey } from "../features/pooled.js";
import { calibrate, probabilities } from "../head/head.js";
import type { FeatureBlock, HeadWeights } from "../head/weights.js";

/** @throws JudgeError `checkpoint` that names the first output without a probability between 0 and 1 */
export function checkHead(head: HeadWeights): void {
  const raw = probabilities(head, meanOfTraining(head.blocks));
  const calibrated = calibrate(head, raw);
  head.outputNames.forEach((name, output) => {
    const platt = head.calibration[output];
    if (platt?.slope === 0) {
      throw new JudgeError("checkpoint", {
        found: `the calibration of output "${name}" has slope 0, which gives all texts one probability`,
        remedy: "train it again, or set it to null",
      });
    }
    const isRawValid = isProbability(raw[output]!);
    if (isRawValid && isProbability(calibrated[output]!)) return;
    const [part, found] = isRawValid ? ["calibration", calibrated[output]!] : ["weights", raw[output]!];
    throw new JudgeError("checkpoint", {
      found: `output "${name}" gets ${found} from its ${part} for the mean of its training data`,
      wanted: "a probability between 0 and 1",
      remedy: "the file is damaged, or the training failed: restore it or train again",
    });
  });
}

function isProbability(value: number): boolean {
  return value > 0 && value < 1;
}

/** The hidden states for which every scaler gives zeros. */
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
