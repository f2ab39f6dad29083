import assert from "node:assert/strict";
import { test } from "node:test";
import { multiply } from "../../../src/head/multiply.js";

test("a matrix of any number of rows and columns is multiplied whole", () => {
  for (let rows = 0; rows <= 9; rows++) {
    for (let size = 0; size <= 5; size++) {
      const matrix = Float32Array.from({ length: rows * size }, (_, index) => (index % 7) - 3);
      const vector = Float64Array.from({ length: size }, (_, index) => index + 1);
      const wanted = Array.from({ length: rows }, (_, row) =>
        vector.reduce((sum, value, index) => sum + matrix[row * size + index]! * value, 0),
      );
      assert.deepEqual([...multiply(matrix, rows, vector)], wanted, `${rows} × ${size}`);
    }
  }
});

test("the sum is float64", () => {
  for (const rows of [1, 4]) {
    const matrix = Float32Array.from(
      { length: 12 * rows },
      (_, index) => [2 ** 30, 0, 0, 0, 1, 0, 0, 0, -(2 ** 30), 0, 0, 0][index % 12]!,
    );
    assert.deepEqual([...multiply(matrix, rows, new Float64Array(12).fill(1))], new Array(rows).fill(1));
    assert.deepEqual(
      [...multiply(new Float32Array(rows).fill(1), rows, Float64Array.of(0.1))],
      new Array(rows).fill(0.1),
    );
  }
});
