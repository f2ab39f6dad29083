// A batch of texts of several lengths: ids, mask, and where the tokens of each text are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { padBatch } from "../../../../../src/encoder/onnx/child/padding.js";

const batch = [
  [1, 2, 3],
  [1, 2],
  [1, 2, 4, 5],
];

const numbers = (data: unknown) => [...(data as BigInt64Array)].map(Number);

test("padding on the right", () => {
  const { inputIds, attentionMask, sequence, tokens } = padBatch(batch, 0, { side: "right", padId: 9 });
  assert.equal(sequence, 4);
  assert.deepEqual(inputIds.dims, [3, 4]);
  assert.deepEqual(numbers(inputIds.data), [1, 2, 3, 9, 1, 2, 9, 9, 1, 2, 4, 5]);
  assert.deepEqual(numbers(attentionMask.data), [1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1]);
  assert.deepEqual(tokens, [
    { first: 0, count: 3 },
    { first: 4, count: 2 },
    { first: 8, count: 4 },
  ]);
});

test("padding on the left", () => {
  const { inputIds, attentionMask, tokens } = padBatch(batch, 0, { side: "left", padId: 9 });
  assert.deepEqual(numbers(inputIds.data), [9, 1, 2, 3, 9, 9, 1, 2, 1, 2, 4, 5]);
  assert.deepEqual(numbers(attentionMask.data), [0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual(tokens, [
    { first: 1, count: 3 },
    { first: 6, count: 2 },
    { first: 8, count: 4 },
  ]);
});

test("the ids of the past are left out, and attended to by every text", () => {
  const padded = padBatch(batch, 1, { side: "right", padId: 9 });
  assert.equal(padded.sequence, 3);
  assert.deepEqual(numbers(padded.inputIds.data), [2, 3, 9, 2, 9, 9, 2, 4, 5]);
  assert.deepEqual(padded.attentionMask.dims, [3, 4]);
  assert.deepEqual(numbers(padded.attentionMask.data), [1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1]);
  assert.deepEqual(padded.tokens[1], { first: 3, count: 1 });
});
