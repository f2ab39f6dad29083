// The reader that takes tensors out of a safetensors file: what it gives, and what it refuses.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  fromFloat32,
  parseSafetensors,
  serializeSafetensors,
  type Tensor,
} from "../../../src/checkpoint/safetensors.js";
import { createTensorReader } from "../../../src/checkpoint/tensor-reader.js";
import { refusal } from "../../support/refusal.js";

const matrix = Float32Array.of(1, 2, 3, 4, 5, 6);
const bias = Float32Array.of(-1, 0.5);
/** A reader of these tensors, by way of a file's bytes. */
const readerOf = (tensors: Readonly<Record<string, Tensor>>) =>
  createTensorReader(parseSafetensors(serializeSafetensors(Object.entries(tensors))));
const linear = () =>
  readerOf({ "part.weight": fromFloat32(matrix, [2, 3]), "part.bias": fromFloat32(bias, [2]) });

test("a tensor comes out as it went in, and a dense layer out of its two", () => {
  assert.deepEqual(linear().read("part.weight", [2, 3]), matrix);
  assert.deepEqual(linear().readLinear("part", 3, 2), { inputSize: 3, outputSize: 2, weight: matrix, bias });
});

test("every finite value of float32 comes out with its bits", () => {
  const values = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 });
  fc.assert(
    fc.property(values, (given) => {
      const wanted = Float32Array.from(given);
      const found = readerOf({ x: fromFloat32(wanted, [wanted.length]) }).read("x", [wanted.length]);
      assert.deepEqual(found, wanted);
    }),
  );
});

describe("is refused, by name", () => {
  const finding = (action: () => unknown) => refusal("checkpoint", action).message;

  test("a tensor that is missing", () => {
    for (const name of ["part.weights", "PART.weight", "", "__proto__", "constructor"]) {
      const message = finding(() => linear().read(name, [2, 3]));
      assert.equal(message, `router.safetensors: tensor ${name} is missing`);
    }
  });
  test("a dense layer without weight or bias", () => {
    const weight = { "part.weight": fromFloat32(matrix, [2, 3]) };
    assert.match(
      finding(() => readerOf(weight).readLinear("part", 3, 2)),
      /part\.bias is missing/,
    );
    assert.match(
      finding(() => readerOf({ "part.bias": fromFloat32(bias, [2]) }).readLinear("part", 3, 2)),
      /part\.weight is missing/,
    );
  });
  test("another shape: transposed, flattened, an axis more, none", () => {
    for (const shape of [[3, 2], [6], [2, 3, 1], [1, 2, 3], [], [2, 4]]) {
      const message = finding(() => linear().read("part.weight", shape));
      assert.equal(message, `router.safetensors: part.weight is F32 [2,3], wanted F32 [${shape}]`);
    }
  });
  test("a dense layer of another size, in weight or bias", () => {
    assert.match(
      finding(() => linear().readLinear("part", 2, 3)),
      /part\.weight is F32 \[2,3\], wanted F32 \[3,2\]/,
    );
    const long = { "part.weight": fromFloat32(matrix, [2, 3]), "part.bias": fromFloat32(matrix, [6]) };
    assert.match(
      finding(() => readerOf(long).readLinear("part", 3, 2)),
      /part\.bias is F32 \[6\], wanted F32 \[2\]/,
    );
  });
  test("another dtype of the same size", () => {
    const tensor = { ...fromFloat32(bias, [2]), dtype: "I32" } as unknown as Tensor;
    const reader = createTensorReader({ tensors: new Map([["x", tensor]]), metadata: {} });
    assert.match(
      finding(() => reader.read("x", [2])),
      /x is I32 \[2\], wanted F32 \[2\]/,
    );
  });
  test("a value that is not finite, wherever it stands", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      for (const place of [0, 3, 5]) {
        const reader = readerOf({ x: fromFloat32(matrix.with(place, value), [6]) });
        assert.match(
          finding(() => reader.read("x", [6])),
          /: x holds a value that is not finite/,
        );
      }
    }
  });
  test("a scale that is zero or below, while the smallest positive number passes", () => {
    for (const value of [0, -0, -1, -(2 ** -149)]) {
      const reader = readerOf({ x: fromFloat32(bias.with(0, 1).with(1, value), [2]) });
      assert.match(
        finding(() => reader.readScale("x", [2])),
        /: x holds a value ≤ 0/,
      );
    }
    const smallest = Float32Array.of(2 ** -149, 1);
    assert.deepEqual(readerOf({ x: fromFloat32(smallest, [2]) }).readScale("x", [2]), smallest);
  });
  test("at the end, tensors that nobody read, by their number", () => {
    const reader = linear();
    assert.match(
      finding(() => reader.finish()),
      /: 2 tensor\(s\) that router\.json does not name/,
    );
    reader.read("part.bias", [2]);
    assert.match(
      finding(() => reader.finish()),
      /: 1 tensor\(s\)/,
    );
    reader.read("part.weight", [2, 3]);
    reader.finish();
  });
});
