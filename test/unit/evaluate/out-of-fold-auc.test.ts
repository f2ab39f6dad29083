import assert from "node:assert/strict";
import { test } from "node:test";
import { outOfFoldAuc } from "../../../src/evaluate/out-of-fold-auc.js";
import { labelRow } from "../../support/train/reference.js";

test("by output, of the rows that are labelled, with an interval; null for one class", () => {
  const rows = 200;
  const predicted = new Float64Array(3 * rows);
  const labels = Array.from({ length: rows }, (_, row) => {
    // every tenth row of output a is on the wrong side, every second has no label for b
    const solved = row % 2 === 0;
    predicted.set([row % 10 === 0 ? 0.1 : solved ? 0.8 : 0.3, solved ? 0.9 : 0.1, 0.5], 3 * row);
    return labelRow({ id: `${row}`, labels: [solved, row % 4 < 2 ? solved : null, true] });
  });
  const [a, b, c] = outOfFoldAuc(predicted, labels, ["a", "b", "c"]);
  // 80 of 100 solved rows stand above all others, 20 below
  assert.ok(Math.abs(a!.auc! - 0.8) < 1e-12, String(a!.auc));
  assert.ok(a!.low! > 0.65 && a!.low! < 0.8 && a!.high! > 0.8 && a!.high! < 0.95);
  assert.deepEqual(b, { output: "b", auc: 1, low: 1, high: 1 });
  assert.deepEqual(c, { output: "c", auc: null, low: null, high: null });
  assert.deepEqual(outOfFoldAuc(predicted, labels, ["a", "b", "c"]), [a, b, c]);
});
