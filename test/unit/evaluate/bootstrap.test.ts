import assert from "node:assert/strict";
import { test } from "node:test";
import { bootstrap, quantile } from "../../../src/evaluate/bootstrap.js";
import { weightedMean } from "../../../src/evaluate/metrics.js";
import { createRandom } from "../../../src/train/numeric/random.js";
import { assertClose, reference } from "../../support/train/reference.js";

test("quantiles as numpy's", () => {
  const { values, shares, wanted } = reference().quantiles;
  const sorted = Float64Array.from(values).sort();
  shares.forEach((share, index) => {
    assertClose(quantile(sorted, share), wanted[index]!);
  });
});

test("the interval of a mean is that of the normal approximation, and the value is the mean", () => {
  const random = createRandom(1);
  const values = Float64Array.from({ length: 400 }, () => random.normal());
  const [mean] = bootstrap(400, (multiplicity) => [weightedMean(multiplicity, values)], { seed: 2 });
  const center = values.reduce((sum, value) => sum + value, 0) / 400;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - center) ** 2, 0) / 400 / 400);
  assertClose(mean?.value, center);
  assertClose(mean?.low, center - 1.96 * deviation, 0.1 * deviation);
  assertClose(mean?.high, center + 1.96 * deviation, 0.1 * deviation);
});

test("every resample draws as many rows as there are", () => {
  const totals = new Set<number>();
  bootstrap(
    37,
    (multiplicity) => {
      totals.add(multiplicity.reduce((sum, count) => sum + count, 0));
      return [];
    },
    { seed: 1, resamples: 50 },
  );
  assert.deepEqual([...totals], [37]);
});

test("statistics of one call share resamples, so that a difference is paired", () => {
  const values = Float64Array.from({ length: 50 }, (_, index) => Math.sin(index));
  const shifted = values.map((value) => value + 0.25);
  const [difference] = bootstrap(
    50,
    (multiplicity) => [weightedMean(multiplicity, shifted)! - weightedMean(multiplicity, values)!],
    { seed: 3, resamples: 200 },
  );
  assertClose(difference?.low, 0.25);
  assertClose(difference?.high, 0.25);
});

test("seeded: same seed same bytes, another seed another interval", () => {
  const values = Float64Array.from({ length: 30 }, (_, index) => index % 7);
  const run = (seed: number) =>
    bootstrap(30, (multiplicity) => [weightedMean(multiplicity, values)], { seed });
  assert.deepEqual(run(5), run(5));
  assert.notDeepEqual(run(5), run(6));
});

test("resamples without the statistic are passed over; where most are, there is no interval", () => {
  const only = (row: number) => (multiplicity: Float64Array) => [multiplicity[row]! > 0 ? 1 : null];
  const [often] = bootstrap(10, only(0), { seed: 1 });
  assert.deepEqual(often, { value: 1, low: 1, high: 1 });
  const never = (multiplicity: Float64Array) => [multiplicity.every((count) => count === 1) ? 1 : null];
  assert.deepEqual(bootstrap(10, never, { seed: 1 }), [{ value: 1, low: null, high: null }]);
  assert.deepEqual(
    bootstrap(0, () => [null], { seed: 1 }),
    [{ value: null, low: null, high: null }],
  );
});
