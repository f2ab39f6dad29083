// What can be told of labels without training: how many of each kind, and what would be too few.

import type { LabelRow } from "./label-row.js";

export interface OutputCount {
  readonly output: string;
  /** with a label */
  readonly rows: number;
  /** sum of the rows' shares, and what they lack of `rows` */
  readonly solved: number;
  readonly failed: number;
  /** null labels, which are masked */
  readonly missing: number;
  /** of all rows */
  readonly answers: number;
  /** rows whose answers differ: their share is neither 0 nor 1 */
  readonly mixed: number;
}

export type LabelProblem =
  /** no label at all, or labels of one class only: nothing can be learned */
  | { readonly kind: "no_labels" | "one_class"; readonly output: string }
  /** fewer labelled rows than `wanted` */
  | { readonly kind: "few_rows"; readonly output: string; readonly rows: number; readonly wanted: number }
  /** fewer rows of the rarer class than `wanted`, mixed rows counted by their share */
  | { readonly kind: "rare_class"; readonly output: string; readonly rows: number; readonly wanted: number };

/** Below these an AUC has an interval of ± 0.1 and more, and a head of 50 features mostly learns noise. */
const fewest = { rows: 200, rarerClass: 30 };

/** Counts by output, of any choice of rows. */
export function countLabels(rows: readonly LabelRow[], outputNames: readonly string[]): OutputCount[] {
  return outputNames.map((output, index) => {
    const shares = rows.map(({ labels }) => labels[index]!).filter((share) => share !== null);
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    return {
      output,
      rows: shares.length,
      solved: sum(shares),
      failed: sum(shares.map((share) => 1 - share)),
      missing: rows.length - shares.length,
      answers: sum(rows.map(({ samples }) => samples[index]!)),
      mixed: shares.filter((share) => share > 0 && share < 1).length,
    };
  });
}

/** What is wrong with the labels of each output, worst first; an output has one problem at most. */
export function labelProblems(counts: readonly OutputCount[]): LabelProblem[] {
  return counts.flatMap(({ output, rows, solved, failed }): LabelProblem[] => {
    const rarer = Math.min(solved, failed);
    if (rows === 0) return [{ kind: "no_labels", output }];
    if (rarer === 0) return [{ kind: "one_class", output }];
    if (rows < fewest.rows) return [{ kind: "few_rows", output, rows, wanted: fewest.rows }];
    if (rarer < fewest.rarerClass)
      return [{ kind: "rare_class", output, rows: Math.floor(rarer), wanted: fewest.rarerClass }];
    return [];
  });
}
