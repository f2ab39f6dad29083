import assert from "node:assert/strict";
import { test } from "node:test";
import { fitLogistic, predictLogistic } from "../../../../src/train/fit/logistic.js";
import { denseDesign, sparseDesign } from "../../../../src/train/numeric/design.js";
import { minimise } from "../../../../src/train/numeric/lbfgs.js";
import { largestDifference } from "../../../support/fixtures.js";
import { assertClose, reference } from "../../../support/train/reference.js";

const { features, solved, models } = reference().logistic;
const dense = denseDesign(Float64Array.from(features.flat()), 4);
const labels = Uint8Array.from(solved);

for (const wanted of models) {
  const weights = wanted.sampleWeight === null ? "" : ", weighted rows, some of weight 0";
  test(`coefficients and probabilities as scikit-learn's: C = ${wanted.inversePenalty}${weights}`, () => {
    const model = fitLogistic(dense, labels, {
      inversePenalty: wanted.inversePenalty,
      tolerance: 1e-10,
      ...(wanted.sampleWeight && { sampleWeight: Float64Array.from(wanted.sampleWeight) }),
    });
    assert.ok(model.converged);
    assert.ok(largestDifference(model.weight, wanted.weight) < 1e-5);
    assertClose(model.intercept, wanted.intercept, 1e-5);
    assert.ok(largestDifference(predictLogistic(model, dense), wanted.p) < 1e-6);
  });
}

test("sparse and dense features give the same model", () => {
  const sparse = sparseDesign({
    rows: 30,
    columns: 4,
    offsets: Uint32Array.from({ length: 31 }, (_, row) => 4 * row),
    indices: Uint32Array.from({ length: 120 }, (_, entry) => entry % 4),
    values: Float64Array.from(features.flat()),
  });
  const [first, second] = [dense, sparse].map((design) => fitLogistic(design, labels));
  assert.ok(largestDifference(first!.weight, second!.weight) < 1e-12);
});

test("without features the intercept is the log-odds of the base rate", () => {
  const { intercept, weight } = fitLogistic(denseDesign(new Float64Array(8), 2), Uint8Array.of(1, 1, 1, 0));
  assertClose(intercept, Math.log(3), 1e-4);
  assert.deepEqual([...weight], [0, 0]);
});

test("one class is refused, also when the other's rows weigh nothing", () => {
  assert.throws(() => fitLogistic(dense, new Uint8Array(30).fill(1)), RangeError);
  const sampleWeight = Float64Array.from(solved);
  assert.throws(() => fitLogistic(dense, labels, { sampleWeight }), RangeError);
});

test("features of a thousand do not overflow", () => {
  const design = denseDesign(Float64Array.of(-3000, -1000, 1000, 3000), 1);
  const model = fitLogistic(design, Uint8Array.of(0, 0, 1, 1), { inversePenalty: 1e6 });
  assert.ok(model.converged);
  assert.ok(predictLogistic(model, design).every((p) => p >= 0 && p <= 1));
});

test("the minimum of Rosenbrock's valley is found", () => {
  const { point, converged } = minimise(
    ([x = 0, y = 0]) => ({
      value: (1 - x) ** 2 + 100 * (y - x * x) ** 2,
      gradient: Float64Array.of(-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)),
    }),
    Float64Array.of(-1.2, 1),
    { tolerance: 1e-8, maxIterations: 200 },
  );
  assert.ok(converged);
  assert.ok(largestDifference(point, [1, 1]) < 1e-6);
});

test("when the iterations run out, that is said", () => {
  const { converged, iterations } = fitLogistic(dense, labels, { tolerance: 1e-12, maxIterations: 2 });
  assert.equal(converged, false);
  assert.equal(iterations, 2);
});
