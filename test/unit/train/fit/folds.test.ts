import assert from "node:assert/strict";
import { test } from "node:test";
import { fitHead } from "../../../../src/train/fit/fit.js";
import { type Fold, outOfFold, selectRows, splitFolds } from "../../../../src/train/fit/folds.js";
import { predictTable } from "../../../../src/train/predict.js";
import { smallRecipe, toyInput } from "../../../support/train/fit-reference.js";

test("every row is tested once and trained on otherwise; sizes differ by at most one", () => {
  const folds = splitFolds(23, { folds: 5, seed: 1 });
  const sizes = folds.map(({ testRows }) => testRows.length).sort();
  assert.deepEqual(sizes, [4, 4, 5, 5, 5]);
  const tested = folds.flatMap(({ testRows }) => [...testRows]).sort((a, b) => a - b);
  assert.deepEqual(tested, [...Array(23).keys()]);
  for (const { trainRows, testRows } of folds) {
    assert.deepEqual(
      [...trainRows, ...testRows].sort((a, b) => a - b),
      tested,
    );
  }
});

test("the seed decides, and rows are mixed", () => {
  const rowsOf = (seed: number) => splitFolds(40, { folds: 4, seed }).map(({ testRows }) => [...testRows]);
  assert.deepEqual(rowsOf(1), rowsOf(1));
  assert.notDeepEqual(rowsOf(1), rowsOf(2));
  assert.ok(rowsOf(1).every((rows) => rows.at(-1)! - rows[0]! > 15));
});

test("fewer than two folds, or more than rows, are refused", () => {
  assert.throws(() => splitFolds(10, { folds: 1, seed: 1 }), RangeError);
  assert.throws(() => splitFolds(3, { folds: 4, seed: 1 }), RangeError);
});

test("predictions come back in the rows' order", async () => {
  const predict = async ({ testRows }: Fold) => Float64Array.from(testRows).map((row) => row * 10);
  const twice = async (fold: Fold) => {
    const single = await predict(fold);
    return Float64Array.from({ length: single.length * 2 }, (_, place) => single[place >> 1]! + (place & 1));
  };
  const found = await outOfFold({ rows: 7, outputs: 2 }, { folds: 3, seed: 4 }, twice);
  assert.deepEqual([...found], [0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 61]);
});

test("out of fold, labels of chance are not learned", async () => {
  const input = toyInput(160);
  const labels = toyInput(160, 9).labels;
  const fit = async ({ trainRows, testRows }: Fold) => {
    const part = {
      ...input,
      table: selectRows(input.table, trainRows),
      labels: [...trainRows].map((row) => labels[row]!),
    };
    const { weights } = await fitHead(part, { pcaSize: 4, recipe: smallRecipe, seeds: [1], keep: 1 });
    return predictTable(weights, selectRows(input.table, testRows));
  };
  const found = await outOfFold({ rows: 160, outputs: 2 }, { folds: 4, seed: 1 }, fit);
  const right =
    found.filter((p, place) => p > 0.5 === (labels[place >> 1]!.labels[place & 1] === 1)).length / 320;
  assert.ok(right > 0.35 && right < 0.65, `${right}`);
});
