// The rows on which a judge sends the request to the wrong side, worst first, as records for a spreadsheet.
import type { LabelRow } from "./labels.js";
import { goesToWeak } from "./metrics.js";

const header = ["id", "split", "group", "source", "p_solve", "solved", "error", "prompt"];

/**
 * Header and records. `weak_fails`: sent to the weak model, which does not solve it; `strong_wasted`: sent to the strong
 * model although the weak one solves it.
 *
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
    if (solved === null || Number.isNaN(value) || goesToWeak(value, threshold) === solved) return [];
    return [{ row, value, solved }];
  });
  wrong.sort((first, second) => Math.abs(second.value - threshold) - Math.abs(first.value - threshold));
  const records = wrong.map(({ row, value, solved }) => [
    row.id,
    row.split ?? "",
    row.group ?? "",
    row.source ?? "",
    value.toFixed(4),
    String(solved),
    solved ? "strong_wasted" : "weak_fails",
    row.text,
  ]);
  return [header, ...records];
}
