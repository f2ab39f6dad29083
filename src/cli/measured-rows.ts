// The rows that a judge is measured on, for every command that does: none of them was trained on.
import type { LabelRow, Labels } from "../train/labels.js";
import { refuseOverlap } from "../train/overlap.js";
import { inEvaluatedSplit, type SplitChoice } from "./label-file.js";

/** @throws JudgeError `usage` for rows of the training split among them, by their text */
export function measuredRows({ rows: all }: Pick<Labels, "rows">, choice: SplitChoice): LabelRow[] {
  const rows = all.filter((row) => inEvaluatedSplit(row, choice));
  refuseOverlap(trainedRows(all, choice), rows);
  return rows;
}

/** The rows that the judge was trained on, as far as the labels say. */
export function trainedRows(all: readonly LabelRow[], { trainSplit }: SplitChoice): LabelRow[] {
  return all.filter(({ split }) => split === trainSplit);
}
