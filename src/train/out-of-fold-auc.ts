// How good the predictions out of fold are, by output: the figure that a training can give of itself.
import { bootstrap } from "./bootstrap.js";
import type { LabelRow } from "./labels.js";
import { auc, createSample } from "./metrics.js";

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
  labels: readonly Pick<LabelRow, "labels" | "weight">[],
  outputNames: readonly string[],
): OutputAuc[] {
  return outputNames.map((output, place) => {
    const known = [...labels.keys()].filter((row) => labels[row]!.labels[place] !== null);
    const p = Float64Array.from(known, (row) => outOfFold[row * outputNames.length + place]!);
    const solved = Uint8Array.from(known, (row) => (labels[row]!.labels[place] ? 1 : 0));
    const weight = Float64Array.from(known, (row) => labels[row]!.weight);
    const sample = createSample(p, solved, weight);
    const [estimate] = bootstrap(
      known.length,
      (multiplicity) => {
        const drawn = weight.map((value, row) => value * multiplicity[row]!);
        return [auc(sample, drawn)];
      },
      { seed },
    );
    const { value, low, high } = estimate!;
    return { output, auc: value, low, high };
  });
}
