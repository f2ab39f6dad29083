import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bootstrap } from "../../../src/evaluate/bootstrap.js";
import {
  agreements,
  auc,
  aucHalfWidth,
  createSample,
  ece,
  goesToWeak,
  type Sample,
  uncertain,
  weightedMean,
} from "../../../src/evaluate/metrics.js";
import { groupOrders, withinGroupAuc } from "../../../src/evaluate/within-group.js";
import { createRandom } from "../../../src/train/numeric/random.js";
import { accuracy, brier, logLoss } from "../../support/train/mean-metrics.js";
import { assertClose, type ReferenceSample, reference } from "../../support/train/reference.js";

const sampleOf = ({ p, solved, weight }: Pick<ReferenceSample, "p" | "solved" | "weight">): Sample =>
  createSample(Float64Array.from(p), Uint8Array.from(solved), Float64Array.from(weight));
const plain = (p: number[], solved: number[]): Sample =>
  createSample(Float64Array.from(p), Uint8Array.from(solved));

for (const [name, wanted] of Object.entries(reference().samples)) {
  test(`as scikit-learn: ${name}`, () => {
    const sample = sampleOf(wanted);
    assertClose(auc(sample, sample.weight), wanted.auc);
    assertClose(brier(sample, sample.weight), wanted.brier);
    assertClose(logLoss(sample, sample.weight), wanted.logLoss);
    assertClose(ece(sample, sample.weight), wanted.ece);
  });
}

test("auc is the share of pairs in the right order, ties half, weights multiplied", () => {
  const row = fc.record({
    p: fc.constantFrom(0, 0.1, 0.25, 0.5, 0.5 + 1e-12, 0.9, 1),
    solved: fc.constantFrom(0, 1),
    weight: fc.constantFrom(0, 0.5, 1, 3),
  });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
      let right = 0;
      let all = 0;
      for (const first of rows.filter(({ solved }) => solved === 1)) {
        for (const second of rows.filter(({ solved }) => solved === 0)) {
          const pair = first.weight * second.weight;
          right += pair * (first.p > second.p ? 1 : first.p === second.p ? 0.5 : 0);
          all += pair;
        }
      }
      const sample = sampleOf({
        p: rows.map(({ p }) => p),
        solved: rows.map(({ solved }) => solved),
        weight: rows.map(({ weight }) => weight),
      });
      const found = auc(sample, sample.weight);
      if (all === 0) assert.equal(found, null);
      else assertClose(found, right / all);
    }),
    { seed: 6, numRuns: 500 },
  );
});

test("a weight of two is a row twice", () => {
  const once = plain([0.2, 0.6, 0.6, 0.9], [0, 1, 0, 1]);
  const weight = Float64Array.of(1, 2, 1, 3);
  const twice = plain([0.2, 0.6, 0.6, 0.6, 0.9, 0.9, 0.9], [0, 1, 1, 0, 1, 1, 1]);
  for (const metric of [auc, brier, logLoss, ece]) {
    assertClose(metric(once, weight), metric(twice, twice.weight)!);
  }
  assertClose(accuracy(once, weight, 0.5), accuracy(twice, twice.weight, 0.5)!);
});

test("no rows, or one class, give no figure", () => {
  const none = plain([], []);
  for (const metric of [auc, brier, logLoss, ece]) assert.equal(metric(none, none.weight), null);
  assert.equal(accuracy(none, none.weight, 0.5), null);
  const solved = plain([0.1, 0.9], [1, 1]);
  assert.equal(auc(solved, solved.weight), null);
  assertClose(brier(solved, solved.weight), (0.81 + 0.01) / 2);
});

test("calibration error: bins are closed below, and 1 is in the last", () => {
  const sample = plain([0.1, 0.19, 1, 0.95], [0, 0, 1, 0]);
  assertClose(ece(sample, sample.weight), (0.29 + 0.95) / 4);
});

test("equality goes to the weak model, within f64 epsilon", () => {
  assert.ok(goesToWeak(0.8, 0.8));
  assert.ok(goesToWeak(0.1 + 0.2 - 0.1, 0.2));
  assert.ok(goesToWeak(0.3 - 1e-17, 0.3));
  assert.ok(!goesToWeak(0.8 - 1e-12, 0.8));
});

test("accuracy is the share of labels on p's side of the threshold", () => {
  const sample = plain([0.9, 0.8, 0.7, 0.2], [1, 0, 1, 1]);
  assertClose(accuracy(sample, sample.weight, 0.75), 0.25);
});

test("the share that is hardly decided has both ends, decisions agree by side", () => {
  const p = Float64Array.of(0.4, 0.6, 0.39, 0.61, 0.5);
  assert.deepEqual([...uncertain({ p })], [1, 1, 0, 0, 1]);
  const other = Float64Array.of(0.5, 0.1, 0.1, 0.99, 0.7);
  assert.deepEqual([...agreements(p, other, 0.5)], [0, 0, 1, 1, 1]);
  assertClose(weightedMean(Float64Array.of(1, 1, 0, 2, 0), agreements(p, other, 0.5)), 0.5);
});

test("AUC within groups passes over groups of one class, and over rows without a group", () => {
  const sample = plain([0.9, 0.1, 0.8, 0.2, 0.7, 0.6, 0.3], [1, 0, 0, 1, 1, 1, 0]);
  const orders = groupOrders(sample, ["a", "a", "b", "b", "c", "c", null]);
  assertClose(withinGroupAuc(sample, orders, sample.weight), 0.5);
  const weight = Float64Array.of(3, 1, 1, 1, 1, 1, 1);
  assertClose(withinGroupAuc(sample, orders, weight), 4 / 6);
  assert.equal(withinGroupAuc(sample, groupOrders(sample, new Array(7).fill(null)), sample.weight), null);
});

test("half the width of an AUC's interval: the published example, and what resampling finds", () => {
  // Hanley & McNeil 1982: an area of 0.893 from 51 and 58 patients has a standard error of 0.032
  const published = aucHalfWidth(0.893, { solved: 51, failed: 58 }) / 1.96;
  assert.ok(Math.abs(published - 0.032) < 0.001, String(published));
  const random = createRandom(7);
  const solved = Uint8Array.from({ length: 400 }, (_, row) => (row < 100 ? 1 : 0));
  const p = Float64Array.from(solved, (label) =>
    Math.min(1, (random.uniform() + random.uniform() + label * 0.43) / 2.5),
  );
  const sample = createSample(p, solved);
  const [estimate] = bootstrap(400, (multiplicity) => [auc(sample, multiplicity)], { seed: 1 });
  const { value, low, high } = estimate!;
  assert.ok(value! > 0.65 && value! < 0.85, String(value));
  const expected = aucHalfWidth(value!, { solved: 100, failed: 300 });
  const found = (high! - low!) / 2;
  assert.ok(Math.abs(expected / found - 1) < 0.15, `${expected} and ${found}`);
});
