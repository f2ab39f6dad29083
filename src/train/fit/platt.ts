// Platt calibration (Platt 1999; Lin, Lin & Weng 2007) on the logit of out-of-fold probabilities.
import { sigmoid } from "../../head/head.js";
import type { Calibration } from "../../head/weights.js";
import type { LabelRow } from "../../labels/label-row.js";
import { labelWeight } from "../../labels/label-row.js";
import { type Evaluated, minimise } from "../numeric/lbfgs.js";

/** Probabilities are read no closer to 0 and 1: one sure mistake must not outweigh everything. */
const closest = 1e-6;

export interface PlattSample {
  /** [rows] out of fold */
  readonly probability: ArrayLike<number>;
  /** [rows] 0…1 */
  readonly solved: ArrayLike<number>;
  /** [rows] */
  readonly weight: ArrayLike<number>;
}

/** null when only one class is there: nothing to calibrate by. */
export function fitPlatt({ probability, solved, weight }: PlattSample): Calibration | null {
  const rows = probability.length;
  const logits = new Float64Array(rows);
  let positive = 0;
  let total = 0;
  for (let row = 0; row < rows; row++) {
    const p = Math.min(Math.max(probability[row]!, closest), 1 - closest);
    logits[row] = Math.log(p / (1 - p));
    positive += weight[row]! * solved[row]!;
    total += weight[row]!;
  }
  if (!(positive > 0 && positive < total)) return null;
  const [unsolvedTarget, solvedTarget] = [1 / (total - positive + 2), (positive + 1) / (positive + 2)];
  const targets = Float64Array.from(logits, (_, row) => {
    return solved[row]! * solvedTarget + (1 - solved[row]!) * unsolvedTarget;
  });
  const evaluate = ([slope = 0, intercept = 0]: Float64Array): Evaluated => {
    const gradient = new Float64Array(2);
    let value = 0;
    for (let row = 0; row < rows; row++) {
      const share = weight[row]! / total;
      const score = slope * logits[row]! + intercept;
      value += share * (Math.max(score, 0) + Math.log1p(Math.exp(-Math.abs(score))) - targets[row]! * score);
      const residual = share * (sigmoid(score) - targets[row]!);
      gradient[0]! += residual * logits[row]!;
      gradient[1]! += residual;
    }
    return { value, gradient };
  };
  const { point } = minimise(evaluate, Float64Array.of(1, 0), { tolerance: 1e-9, maxIterations: 500 });
  return { slope: point[0]!, intercept: point[1]! };
}

/** Whether the calibration keeps the order of the probabilities. */
export function keepsOrder({ slope }: Calibration): boolean {
  return slope > 0;
}

/**
 * A calibration for each output, from the rows whose label is known.
 * @param outOfFold [rows, outputs] raw probabilities
 */
export function fitCalibrations(
  outOfFold: Float64Array,
  labels: readonly Pick<LabelRow, "labels" | "samples" | "weight">[],
  outputs: number,
): (Calibration | null)[] {
  return Array.from({ length: outputs }, (_, output) => {
    const known = [...labels.keys()].filter((row) => labels[row]!.labels[output] !== null);
    return fitPlatt({
      probability: known.map((row) => outOfFold[row * outputs + output]!),
      solved: known.map((row) => labels[row]!.labels[output]!),
      weight: known.map((row) => labelWeight(labels[row]!, output)),
    });
  });
}
