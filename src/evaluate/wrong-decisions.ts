// The rows that a judge sends to the wrong side, furthest from the threshold first.
import type { LabelRow } from "../labels/label-row.js";
import { goesToWeak } from "./metrics.js";

const header = ["id", "split", "group", "source", "p_solve", "solved", "error", "prompt"];

/**
 * Header and records. `weak_fails` went to the weak model wrongly, `strong_wasted` to the strong one.
 * @param p [rows]; rows with NaN or without a label are passed over
 */
export function listWrongDecisions(
  rows: readonly LabelRow[],
  p: Float64Array,
  { output, threshold }: { output: number; threshold: number },
): string[][] {
  const wrong = rows.flatMap((row, index) => {
    const solved = row.labels[output]!;
    const value = p[index]!;
    if (solved === null || Number.isNaN(value)) return [];
    const toWeak = goesToWeak(value, threshold);
    const isWrong = toWeak ? solved < 0.5 : solved > 0.5;
    return isWrong ? [{ row, value, solved, toWeak }] : [];
  });
  wrong.sort((first, second) => Math.abs(second.value - threshold) - Math.abs(first.value - threshold));
  const records = wrong.map(({ row, value, solved, toWeak }) => [
    row.id,
    row.split ?? "",
    row.group ?? "",
    row.source ?? "",
    value.toFixed(4),
    solvedText(solved),
    toWeak ? "weak_fails" : "strong_wasted",
    row.text,
  ]);
  return [header, ...records];
}

/** As label files have it. */
function solvedText(share: number): string {
  return share === 0 || share === 1 ? String(share === 1) : share.toFixed(4);
}
