import assert from "node:assert/strict";
import { test } from "node:test";
import { loadCheckpoint } from "../../../src/checkpoint/load.js";
import { probabilities } from "../../../src/head/head.js";
import { multiply } from "../../../src/head/multiply.js";
import { createSimdMultiply } from "../../../src/head/simd-multiply.js";
import { matricesOf } from "../../../src/head/weights.js";
import { fixturePath, packagePath } from "../../support/fixtures.js";

/** Numbers of many sizes, the same in every run. */
function numbers(length: number, seed: number): number[] {
  return Array.from({ length }, (_, index) => Math.sin(seed + index) * 10 ** (index % 7));
}

test("matrices of any shape give what multiply.ts gives, to the last bit", () => {
  const shapes = Array.from({ length: 10 }, (_, rows) =>
    [0, 1, 2, 3, 4, 7, 50, 129].map((columns) => [rows, columns]),
  );
  const matrices = shapes.flat().map(([rows, columns]) => ({
    values: Float32Array.from(numbers(rows! * columns!, rows! + columns!)),
    rows: rows!,
    columns: columns!,
  }));
  const product = createSimdMultiply(matrices);
  // longer and shorter ones in turn: what one leaves behind must not be seen by another
  for (const { values, rows, columns } of [...matrices, ...matrices.toReversed()]) {
    const vector = Float64Array.from(numbers(columns, rows));
    assert.deepEqual(product(values, rows, vector), multiply(values, rows, vector), `${rows} × ${columns}`);
  }
});

test("a matrix that it was not made for is multiplied as well", () => {
  const matrix = Float32Array.from(numbers(12, 1));
  const vector = Float64Array.of(1, 2, 3);
  assert.deepEqual(createSimdMultiply([])(matrix, 4, vector), multiply(matrix, 4, vector));
});

test("without room for its memory it is multiply.ts's", (context) => {
  const { WebAssembly: wasm } = globalThis as unknown as { WebAssembly: { Memory: () => void } };
  // a plain function: it is called with `new`
  const fails = context.mock.method(wasm, "Memory", function noRoom() {
    throw new RangeError("WebAssembly.Memory(): could not allocate memory");
  });
  assert.equal(createSimdMultiply([]), multiply);
  fails.mock.restore();
  assert.notEqual(createSimdMultiply([]), multiply);
});

test("what is not finite comes out as it does without", () => {
  for (const odd of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const values = Float32Array.of(1, odd, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    const vector = Float64Array.of(0, 1, 2);
    const product = createSimdMultiply([{ values, rows: 4, columns: 3 }]);
    assert.deepEqual(product(values, 4, vector), multiply(values, 4, vector));
  }
});

for (const path of [
  packagePath("checkpoints/smollm2-135m"),
  packagePath("checkpoints/minilm-l6"),
  fixturePath("checkpoints/router-json-v1"),
  fixturePath("checkpoints/router-json-v1-four-outputs"),
  fixturePath("checkpoints/switchyard-0.3.0/two-models.pt"),
]) {
  test(`the probabilities of ${path.split("/").at(-1)} are the same`, async () => {
    const { head } = await loadCheckpoint(path);
    const product = createSimdMultiply(matricesOf(head));
    for (let seed = 0; seed < 20; seed++) {
      const pooled = new Map(
        head.blocks.flatMap(({ layers, pooling, hiddenSize }) =>
          layers.map((layer) => [
            `${layer}.${pooling}` as const,
            Float32Array.from(numbers(hiddenSize, seed + layer)),
          ]),
        ),
      );
      assert.deepEqual(probabilities(head, pooled, product), probabilities(head, pooled));
    }
  });
}
