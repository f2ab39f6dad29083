import assert from "node:assert/strict";
import { test } from "node:test";
import { fitBlock } from "../../../../src/train/fit/fit.js";
import { fitPca } from "../../../../src/train/fit/pca.js";
import { fitScaler } from "../../../../src/train/fit/scaler.js";
import { symmetricEigen } from "../../../../src/train/numeric/eigen.js";
import { gramMatrix } from "../../../../src/train/numeric/gram.js";
import { createRandom } from "../../../../src/train/numeric/random.js";
import { blockFeatures } from "../../../../src/train/predict.js";
import { largestDifference } from "../../../support/fixtures.js";
import { fitReference, tableOf } from "../../../support/train/fit-reference.js";

const kinds = { tall: "from the covariance", wide: "from the Gram matrix: fewer rows than columns" };
for (const name of ["tall", "wide"] as const) {
  const wanted = fitReference().tables[name];
  const table = tableOf(wanted);
  test(`components, signs and variance as scikit-learn's PCA, ${kinds[name]}`, () => {
    const pca = fitPca(table, fitScaler(table), wanted.size);
    assert.ok(largestDifference(pca.components, wanted.components) < 1e-10);
    assert.ok(largestDifference(pca.explainedVariance, wanted.explainedVariance) < 1e-10);
    assert.ok(largestDifference(pca.explainedVarianceRatio, wanted.explainedVarianceRatio) < 1e-12);
  });

  test(`the serving transform of the fitted block gives scikit-learn's features, ${kinds[name]}`, () => {
    const view = { layers: [3], pooling: "mean", hiddenSize: table.columns } as const;
    const { block } = fitBlock({ view, table }, wanted.size);
    assert.ok(largestDifference(blockFeatures(block, table), wanted.transformed) < 1e-4);
  });
}

test("beyond the rank of the Gram matrix components are zero, not noise", () => {
  const table = { rows: 3, columns: 5, data: Float32Array.of(1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 5, 1, 2, 2, 0) };
  const { components, explainedVariance } = fitPca(table, fitScaler(table), 3);
  assert.deepEqual(new Set(components.subarray(5)), new Set([0]));
  assert.ok(explainedVariance[0]! > 1 && explainedVariance[1]! < 1e-12);
});

test("more components than rows or columns are refused", () => {
  const table = { rows: 3, columns: 2, data: new Float32Array(6) };
  const scaler = fitScaler(table);
  assert.throws(() => fitPca(table, scaler, 3), RangeError);
  assert.throws(() => fitPca(table, scaler, 0), RangeError);
});

for (const size of [1, 2, 3, 4, 37]) {
  test(`eigenvectors of a ${size} × ${size} matrix: A v = λ v, orthonormal, descending`, () => {
    const random = createRandom(size);
    const values = Float64Array.from({ length: size * 50 }, () => random.normal());
    const matrix = gramMatrix({ count: size, length: 50, valueAt: (i, k) => values[i * 50 + k]! });
    const { values: found, vectors } = symmetricEigen(matrix.slice(), size, size);
    const rows = Array.from({ length: size }, (_, row) => vectors.subarray(row * size, (row + 1) * size));
    rows.forEach((vector, index) => {
      const product = vector.map((_, i) => inner(matrix.subarray(i * size, (i + 1) * size), vector));
      assert.ok(
        largestDifference(
          product,
          vector.map((value) => value * found[index]!),
        ) < 1e-11,
      );
      rows.forEach((other, place) => {
        assert.ok(Math.abs(inner(vector, other) - (place === index ? 1 : 0)) < 1e-12);
      });
      assert.ok(index === 0 || found[index - 1]! >= found[index]!);
    });
  });
}

test("repeated and zero eigenvalues are found", () => {
  const matrix = Float64Array.from({ length: 25 }, (_, index) => (index % 6 === 0 && index > 6 ? 2 : 0));
  assert.deepEqual([...symmetricEigen(matrix, 5, 5).values], [2, 2, 2, 0, 0]);
  assert.throws(() => symmetricEigen(new Float64Array(16).fill(Number.NaN), 4, 4), RangeError);
});

test("sums of products over more positions than one chunk", () => {
  const valueAt = (series: number, position: number) => ((series + 1) * position) % 7;
  const found = gramMatrix({ count: 5, length: 300, valueAt });
  const wanted = Array.from({ length: 25 }, (_, place) => {
    const positions = Array.from(
      { length: 300 },
      (_, k) => valueAt(Math.floor(place / 5), k) * valueAt(place % 5, k),
    );
    return positions.reduce((sum, value) => sum + value, 0);
  });
  assert.deepEqual([...found], wanted);
});

function inner(first: Float64Array, second: Float64Array): number {
  return first.reduce((sum, value, index) => sum + value * second[index]!, 0);
}
