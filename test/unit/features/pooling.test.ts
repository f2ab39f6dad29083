// Poolers: one vector out of rows, however they come.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createPooler, type PoolingMode, poolingModes, type Rows } from "../../../src/features/pooling.js";

const hiddenSize = 2;

/** Rows [count, 2] without gaps. */
function rowsOf(...values: number[]): Rows {
  const count = values.length / hiddenSize;
  return { values: Float32Array.from(values), table: null, start: 0, stride: hiddenSize, count };
}

function pooled(mode: PoolingMode, ...pieces: readonly Rows[]): number[] {
  const pooler = createPooler(mode, hiddenSize);
  for (const rows of pieces) pooler.addRows(rows);
  return [...pooler.value()];
}

test("mean: over all rows", () => {
  assert.deepEqual(pooled("mean", rowsOf(1, 2, 3, 6)), [2, 4]);
  assert.deepEqual(pooled("mean", rowsOf(5, 5, 7, 9)), [6, 7]);
});

test("last: the last row", () => {
  assert.deepEqual(pooled("last", rowsOf(1, 2, 3, 6)), [3, 6]);
  assert.deepEqual(pooled("last", rowsOf(5, 5, 7, 9)), [7, 9]);
});

test("one row is its own mean and last", () => {
  for (const mode of ["mean", "last"] as const) assert.deepEqual(pooled(mode, rowsOf(3, 6)), [3, 6]);
});

test("rows between others: only those that are told are looked at", () => {
  const values = Float32Array.of(99, 1, 2, 99, 99, 3, 6, 99, 99, 99);
  const rows: Rows = { values, table: null, start: 1, stride: 4, count: 2 };
  assert.deepEqual(pooled("mean", rows), [2, 4]);
  assert.deepEqual(pooled("last", rows), [3, 6]);
});

test("the mean is summed in float64", () => {
  const pooler = createPooler("mean", 1);
  const values = Float32Array.of(2 ** 30, 1, -(2 ** 30), 2);
  pooler.addRows({ values, table: null, start: 0, stride: 1, count: 4 });
  assert.deepEqual([...pooler.value()], [0.75]);
});

describe("in every mode", () => {
  for (const mode of poolingModes) {
    test(`${mode}: a text without a row is refused`, () => {
      assert.throws(() => pooled(mode), RangeError);
      assert.throws(() => pooled(mode, rowsOf()), RangeError);
    });

    test(`${mode}: what is pooled is a copy of the hidden states, and the caller's own`, () => {
      const rows = rowsOf(1, 2);
      const pooler = createPooler(mode, hiddenSize);
      pooler.addRows(rows);
      rows.values[0] = 5;
      pooler.value().fill(7);
      assert.deepEqual([...pooler.value()], [1, 2]);
    });

    test(`${mode}: a copy goes on from the rows so far, and leaves the original alone`, () => {
      const prefix = createPooler(mode, hiddenSize);
      prefix.addRows(rowsOf(4, 8, 6, 12));
      const before = [...prefix.value()];
      for (let text = 0; text < 2; text++) {
        const copy = prefix.copy();
        copy.addRows(rowsOf(2, 4));
        assert.deepEqual([...copy.value()], pooled(mode, rowsOf(4, 8, 6, 12, 2, 4)));
      }
      assert.deepEqual([...prefix.value()], before);
    });

    test(`${mode}: in pieces of any size the same bytes, as values and as bit patterns`, () => {
      const table = Float32Array.from({ length: 1 << 16 }, (_, bits) => Math.sin(bits) * 2 ** (bits % 20));
      table[0] = 0;
      const property = fc.property(
        fc.array(fc.integer({ min: 1, max: 65_535 }), { minLength: 2, maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        (bits, rowsAtOnce) => {
          const patterns = Uint16Array.from(bits.slice(0, bits.length - (bits.length % hiddenSize)));
          const count = patterns.length / hiddenSize;
          const whole: Rows = { values: patterns, table, start: 0, stride: hiddenSize, count };
          const decoded = { ...whole, values: Float32Array.from(patterns, (at) => table[at]!), table: null };
          const pieces: Rows[] = [];
          for (let first = 0; first < count; first += rowsAtOnce) {
            const rest = Math.min(rowsAtOnce, count - first);
            pieces.push({ ...whole, start: first * hiddenSize, count: rest });
          }
          const expected = pooled(mode, whole);
          assert.deepEqual(pooled(mode, decoded), expected);
          assert.deepEqual(pooled(mode, ...pieces), expected);
        },
      );
      fc.assert(property, { numRuns: 200 });
    });
  }
});
