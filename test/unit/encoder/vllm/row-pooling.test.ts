// Rows that come in pieces are pooled as they would be in one, in every dtype; what no model gives is
// refused, where it counts.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toFloat32 } from "../../../../src/checkpoint/safetensors.js";
import {
  createRowPooling,
  type RowShape,
  type StateDtype,
} from "../../../../src/encoder/vllm/row-pooling.js";
import { pooledKey, type WantedFeatures } from "../../../../src/features/pooled.js";
import { createPooler } from "../../../../src/features/pooling.js";
import { largestDifference } from "../../../support/fixtures.js";
import { refusal } from "../../../support/refusal.js";

const captured = [7, 2, 4];
const hiddenSize = 6;
const wanted: WantedFeatures = { layers: [2, 7], pooling: ["mean", "last"] };

/** [tokens, captured, hidden] in bits that are finite and not 0 in each dtype */
function madeBytes(dtype: StateDtype, tokens: number): Uint8Array {
  const length = tokens * captured.length * hiddenSize;
  if (dtype === "F32")
    return new Uint8Array(Float32Array.from({ length }, (_, index) => Math.cos(index) * 30).buffer);
  return new Uint8Array(Uint16Array.from({ length }, (_, index) => 0x3800 + ((index * 37) % 0x400)).buffer);
}

function pooledInPieces(bytes: Uint8Array, shape: RowShape, rowsAtOnce: number) {
  const rows = createRowPooling(shape, wanted);
  const pieceBytes = (rowsAtOnce * bytes.length) / shape.tokens;
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    rows.add(bytes.slice(start, start + pieceBytes));
  }
  return rows.pooled();
}

test("in pieces of any size, every dtype: as the features' own pooling of the whole", () => {
  const dtypes = fc.constantFrom<StateDtype>("F32", "BF16", "F16");
  const property = fc.property(
    dtypes,
    fc.integer({ min: 1, max: 23 }),
    fc.integer({ min: 1, max: 23 }),
    (dtype, tokens, rowsAtOnce) => {
      const bytes = madeBytes(dtype, tokens);
      const pooled = pooledInPieces(bytes, { dtype, tokens, captured, hiddenSize }, rowsAtOnce);
      assert.equal(pooled.size, 4);
      const values = toFloat32({ dtype, shape: [tokens * captured.length, hiddenSize], data: bytes });
      for (const layer of wanted.layers) {
        const place = captured.indexOf(layer);
        const rows = Float32Array.from({ length: tokens * hiddenSize }, (_, index) => {
          const token = Math.floor(index / hiddenSize);
          return values[(token * captured.length + place) * hiddenSize + (index % hiddenSize)]!;
        });
        for (const mode of wanted.pooling) {
          const whole = createPooler(mode, hiddenSize);
          whole.addRows({ values: rows, table: null, start: 0, stride: hiddenSize, count: tokens });
          assert.ok(largestDifference(pooled.get(pooledKey(layer, mode))!, whole.value()) <= 4e-6);
        }
      }
    },
  );
  fc.assert(property, { numRuns: 300 });
});

for (const [finding, value, layer, message] of [
  ["not finite", Number.NaN, 2, /not finite/],
  ["infinite", Number.NEGATIVE_INFINITY, 7, /not finite/],
  ["zeros", 0, 2, /zeros for a token/],
] as const) {
  test(`a row of ${finding} is refused in a layer that is wanted, and not looked at in another`, () => {
    const tokens = 9;
    const shape: RowShape = { dtype: "F32", tokens, captured, hiddenSize };
    const spoiled = (at: number) => {
      const values = new Float32Array(madeBytes("F32", tokens).buffer);
      const start = (5 * captured.length + captured.indexOf(at)) * hiddenSize;
      values.fill(value, start, start + hiddenSize);
      return new Uint8Array(values.buffer);
    };
    const error = refusal("encoder_error", () => pooledInPieces(spoiled(layer), shape, 4));
    assert.match(error.message, message);
    assert.equal(pooledInPieces(spoiled(4), shape, 4).size, 4);
  });
}
