// The rows that a judge is measured on, for every command that does: none of them was trained on.

import { inEvaluatedSplit, type SplitChoice, usualTrainSplit } from "../../labels/label-file.js";
import type { LabelRow } from "../../labels/label-row.js";
import type { Labels } from "../../labels/labels.js";
import { refuseOverlap, withoutOverlap } from "../../labels/overlap.js";
import type { Terminal } from "../terminal.js";

export interface MeasuredChoice extends SplitChoice {
  /** leave rows of the training out, which are refused else */
  readonly dropOverlap?: boolean | undefined;
}

const withoutSplits =
  'no row names a split: rows that the judge was trained on are measured, too, where they are among these, and the figures are too good then; there are no floors either; give rows a split ("train", "test")';

/** @throws JudgeError `usage` for rows of the training split, unless they are to be left out */
export function measuredRows(
  { rows: all }: Pick<Labels, "rows">,
  choice: MeasuredChoice,
  terminal: Terminal,
): LabelRow[] {
  if (all.every(({ split }) => split === null)) terminal.note(withoutSplits);
  const trained = trainedRows(all, choice);
  const rows = all.filter((row) => inEvaluatedSplit(row, choice));
  if (choice.dropOverlap !== true) {
    refuseOverlap(trained, rows);
    return rows;
  }
  const kept = withoutOverlap(trained, rows);
  const dropped = rows.length - kept.length;
  terminal.note(`${dropped} of ${rows.length} rows to measure on are rows of the training, and are left out`);
  return kept;
}

/** The rows that the judge was trained on, as far as the labels say. */
export function trainedRows(
  all: readonly LabelRow[],
  { trainSplit = usualTrainSplit }: SplitChoice,
): LabelRow[] {
  return all.filter(({ split }) => split === trainSplit);
}
