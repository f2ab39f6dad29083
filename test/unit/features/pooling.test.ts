// Pooling of a batch by its mask.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type PoolingMode, pool } from "../../../src/features/pooling.js";

const shape = { sequence: 3, hiddenSize: 2 };
/** two texts of two tokens; 99 stands at the padding */
const right = Float32Array.of(1, 2, 3, 6, 99, 99, 5, 5, 7, 9, 99, 99);
const left = Float32Array.of(99, 99, 1, 2, 3, 6, 99, 99, 5, 5, 7, 9);
const batches = {
  right: [right, [1, 1, 0, 1, 1, 0]],
  left: [left, [0, 1, 1, 0, 1, 1]],
} as const;

for (const [side, [states, mask]] of Object.entries(batches)) {
  const pooled = (row: number, mode: PoolingMode) => [...pool(states, mask, shape, { row, mode })];
  test(`padding on the ${side}: mean over the real tokens of the row`, () => {
    assert.deepEqual(pooled(0, "mean"), [2, 4]);
    assert.deepEqual(pooled(1, "mean"), [6, 7]);
  });
  test(`padding on the ${side}: last is the last real token of the row`, () => {
    assert.deepEqual(pooled(0, "last"), [3, 6]);
    assert.deepEqual(pooled(1, "last"), [7, 9]);
  });
}

test("one real token is its own mean and last", () => {
  for (const mode of ["mean", "last"] as const) {
    assert.deepEqual([...pool(right, [0, 1, 0], shape, { row: 0, mode })], [3, 6]);
  }
});

test("a row without a real token is refused", () => {
  for (const mode of ["mean", "last"] as const) {
    assert.throws(() => pool(right, [1, 1, 1, 0, 0, 0], shape, { row: 1, mode }), RangeError);
  }
});

test("the mean is summed in float64", () => {
  const states = Float32Array.of(2 ** 30, 1, -(2 ** 30), 2);
  assert.deepEqual(
    [...pool(states, [1, 1, 1, 1], { sequence: 4, hiddenSize: 1 }, { row: 0, mode: "mean" })],
    [0.75],
  );
});

test("what is pooled is a copy of the hidden states", () => {
  const states = Float32Array.of(1, 2);
  const last = pool(states, [1], { sequence: 1, hiddenSize: 2 }, { row: 0, mode: "last" });
  states[0] = 5;
  assert.deepEqual([...last], [1, 2]);
});

test("tokens before the batch's count in the mean, and never are the last", () => {
  const before = { tokens: 2, sums: Float64Array.of(10, 20) };
  const states = Float32Array.of(2, 4, 9, 9);
  const sizes = { sequence: 2, hiddenSize: 2 };
  assert.deepEqual([...pool(states, [1, 0], sizes, { row: 0, mode: "mean", before })], [4, 8]);
  assert.deepEqual([...pool(states, [1, 0], sizes, { row: 0, mode: "last", before })], [2, 4]);
  assert.deepEqual([...before.sums], [10, 20]);
});
