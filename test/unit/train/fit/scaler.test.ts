import assert from "node:assert/strict";
import { test } from "node:test";
import { fitScaler } from "../../../../src/train/fit/scaler.js";
import { largestDifference } from "../../../support/fixtures.js";
import { fitReference, tableOf } from "../../../support/train/fit-reference.js";

for (const [name, wanted] of Object.entries(fitReference().tables)) {
  test(`mean and scale as scikit-learn's StandardScaler: ${name}`, () => {
    const { mean, scale } = fitScaler(tableOf(wanted));
    assert.ok(largestDifference(mean, wanted.mean) < 1e-12);
    assert.ok(largestDifference(scale, wanted.scale) < 1e-12);
  });
}

test("a constant column has scale 1, also where its mean is not exact", () => {
  const data = Float32Array.from({ length: 3000 }, (_, index) => [0, 0.1, 1e7][index % 3]!);
  assert.deepEqual([...fitScaler({ rows: 1000, columns: 3, data }).scale], [1, 1, 1]);
});

test("no rows are refused", () => {
  assert.throws(() => fitScaler({ rows: 0, columns: 2, data: new Float32Array() }), RangeError);
});
