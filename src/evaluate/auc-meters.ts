// AUC of predictions for rows whose labels are partly known, as a function of how often each row is drawn.

import type { LabelRow } from "../labels/label-row.js";
import { labelWeight } from "../labels/label-row.js";
import { auc, createSample } from "./metrics.js";

/**
 * By output.
 * @param predicted [rows, outputs]
 * @returns functions of the rows' multiplicity, [rows]; null where the drawn rows have one class
 */
export function aucMeters(
  predicted: Float64Array,
  labels: readonly Pick<LabelRow, "labels" | "samples" | "weight">[],
): ((multiplicity: Float64Array) => number | null)[] {
  const outputs = labels[0]?.labels.length ?? 0;
  return Array.from({ length: outputs }, (_, output) => {
    const known = [...labels.keys()].filter((row) => labels[row]!.labels[output] !== null);
    const sample = createSample(
      Float64Array.from(known, (row) => predicted[row * outputs + output]!),
      Float64Array.from(known, (row) => labels[row]!.labels[output]!),
    );
    return (multiplicity) =>
      auc(
        sample,
        Float64Array.from(known, (row) => labelWeight(labels[row]!, output) * multiplicity[row]!),
      );
  });
}
