// What a row's label counts.
import type { LabelRow } from "./labels.js";

/** The row's weight for each answer: a prompt with three answers counts as three rows did. 0 where nothing is known. */
export function labelWeight(
  { weight, samples }: Pick<LabelRow, "weight" | "samples">,
  output: number,
): number {
  return weight * samples[output]!;
}
