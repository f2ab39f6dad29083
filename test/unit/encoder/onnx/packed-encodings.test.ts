import assert from "node:assert/strict";
import { test } from "node:test";
import { packEncodings, unpackEncodings } from "../../../../src/encoder/onnx/packed-encodings.js";
import { JudgeError } from "../../../../src/errors.js";
import type { PooledKey } from "../../../../src/features/pooled.js";

function encoding(...values: number[]) {
  const pooled = new Map<PooledKey, Float32Array>([
    ["1.mean", Float32Array.of(...values)],
    ["4.last", Float32Array.of(...values.map((value) => -value))],
  ]);
  return { pooled, tokenCount: values[0]!, truncated: values[0]! > 3 };
}

test("encodings come out as they went in, with the errors in their places", () => {
  const error = new JudgeError("encoder_error", { found: "the text cannot be tokenised" });
  for (const entries of [
    [encoding(1, 2, 3)],
    [error, encoding(1, 2, 3), error, encoding(4, 5, 6)],
    [encoding(4, 5, 6), error],
    [error],
    [],
  ]) {
    const unpacked = unpackEncodings(structuredClone(packEncodings(entries)));
    assert.deepEqual(unpacked, entries);
  }
});

test("a vector can be kept without the others of its run", () => {
  const [first] = unpackEncodings(packEncodings([encoding(1, 2, 3), encoding(4, 5, 6)]));
  assert.ok(!(first instanceof JudgeError));
  assert.equal(first!.pooled.get("1.mean")!.buffer.byteLength, 12);
});
