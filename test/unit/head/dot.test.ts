import assert from "node:assert/strict";
import { test } from "node:test";
import { dot } from "../../../src/head/dot.js";

test("a row of any length is multiplied whole, from its offset, and nothing beyond it", () => {
  for (let size = 0; size <= 13; size++) {
    const row = Array.from({ length: size }, (_, index) => index + 1);
    const matrix = Float32Array.of(1e6, 1e6, 1e6, ...row, 1e6, 1e6, 1e6, 1e6);
    const vector = Float64Array.from(row, (value) => value * value);
    const wanted = row.reduce((sum, value) => sum + value ** 3, 0);
    assert.equal(dot(matrix, 3, vector), wanted, `size ${size}`);
  }
});

test("the sum is float64", () => {
  const matrix = Float32Array.of(2 ** 30, 0, 0, 0, 1, 0, 0, 0, -(2 ** 30), 0, 0, 0);
  assert.equal(dot(matrix, 0, new Float64Array(12).fill(1)), 1);
  assert.equal(dot(Float32Array.of(1), 0, Float64Array.of(0.1)), 0.1);
});
