// How good predictions out of fold are, by output: the figure that a training can give of itself.

import type { LabelRow } from "../labels/label-row.js";
import { aucMeters } from "./auc-meters.js";
import { bootstrap } from "./bootstrap.js";

export interface OutputAuc {
  readonly output: string;
  /** null for labels of one class */
  readonly auc: number | null;
  /** of the 95 % interval */
  readonly low: number | null;
  readonly high: number | null;
}

/** The same labels give the same interval. */
const seed = 1;

/** @param outOfFold [rows, outputs] probabilities */
export function outOfFoldAuc(
  outOfFold: Float64Array,
  labels: readonly Pick<LabelRow, "labels" | "samples" | "weight">[],
  outputNames: readonly string[],
): OutputAuc[] {
  const meters = aucMeters(outOfFold, labels);
  const estimates = bootstrap(labels.length, (drawn) => meters.map((meter) => meter(drawn)), { seed });
  return outputNames.map((output, place) => {
    const { value, low, high } = estimates[place]!;
    return { output, auc: value, low, high };
  });
}
