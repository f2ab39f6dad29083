// Seeded k folds, and predictions of every row by a model that has not seen it.
import { createRandom } from "../numeric/random.js";
import type { Table } from "./scaler.js";

export interface Fold {
  /** ascending, both */
  readonly trainRows: Uint32Array;
  readonly testRows: Uint32Array;
}

export interface FoldOptions {
  readonly folds: number;
  readonly seed: number;
}

/** What everything out of fold is measured with, so that its figures compare. */
export const usualFolds: FoldOptions = { folds: 5, seed: 42 };

/** Rows that the smallest fold trains on. */
export function smallestTraining(rows: number, { folds }: FoldOptions): number {
  return rows - Math.ceil(rows / folds);
}

/**
 * Shuffles the rows and deals them out; groups are not kept together. Sizes differ by at most one.
 * @throws RangeError unless 2 ≤ folds ≤ rows
 */
export function splitFolds(rows: number, { folds, seed }: FoldOptions): Fold[] {
  if (!(folds >= 2 && folds <= rows)) throw new RangeError(`${rows} rows cannot make ${folds} folds`);
  const order = Uint32Array.from({ length: rows }, (_, row) => row);
  createRandom(seed).shuffle(order);
  const foldOf = new Uint32Array(rows);
  order.forEach((row, place) => {
    foldOf[row] = place % folds;
  });
  const all = order.sort();
  return Array.from({ length: folds }, (_, fold) => ({
    trainRows: all.filter((row) => foldOf[row] !== fold),
    testRows: all.filter((row) => foldOf[row] === fold),
  }));
}

/**
 * Every row's prediction by the model of the fold that left it out.
 * @param predict trains on a fold's train rows and predicts its test rows, [testRows, outputs]
 * @returns [rows, outputs]
 */
export async function outOfFold(
  size: { readonly rows: number; readonly outputs: number },
  options: FoldOptions,
  predict: (fold: Fold, index: number) => Promise<Float64Array>,
): Promise<Float64Array> {
  const { rows, outputs } = size;
  const predicted = new Float64Array(rows * outputs);
  for (const [index, fold] of splitFolds(rows, options).entries()) {
    const part = await predict(fold, index);
    fold.testRows.forEach((row, place) => {
      predicted.set(part.subarray(place * outputs, (place + 1) * outputs), row * outputs);
    });
  }
  return predicted;
}

/** The rows in the given order, copied. */
export function selectRows({ columns, data }: Table, rows: Uint32Array): Table {
  const selected = new Float32Array(rows.length * columns);
  rows.forEach((row, place) => {
    selected.set(data.subarray(row * columns, (row + 1) * columns), place * columns);
  });
  return { rows: rows.length, columns, data: selected };
}
