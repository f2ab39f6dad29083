import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseThreshold, type RouteRows, type ThresholdTarget } from "../../../src/evaluate/threshold.js";
import { createRandom } from "../../../src/train/numeric/random.js";
import { assertClose } from "../../support/train/reference.js";

/** 400 rows of a calibrated judge: solved with probability p. */
function calibratedRows(): RouteRows {
  const random = createRandom(11);
  const p = Float64Array.from({ length: 400 }, () => random.uniform());
  return {
    p,
    weakSolved: Uint8Array.from(p, (value) => (random.uniform() < value ? 1 : 0)),
    strongSolved: null,
    weight: new Float64Array(400).fill(1),
  };
}
const rows = calibratedRows();
const strongSolved = new Uint8Array(400).fill(1);
const options = { seed: 4, resamples: 300 };
const choose = (target: ThresholdTarget, given: Partial<RouteRows> = {}) =>
  chooseThreshold({ ...rows, ...given }, target, options);

test("a weak share: no more rows than needed, and a threshold that is good to read", () => {
  const { baseThreshold, weakShare, reachable, meanCost } = choose({ kind: "weak_share", share: 0.6 });
  assertClose(weakShare?.value, 0.6);
  assertClose(baseThreshold.value, 0.4, 0.05);
  assert.ok(String(baseThreshold.value).length <= 6, `${baseThreshold.value}`);
  assert.ok(
    baseThreshold.low! < 0.4 && baseThreshold.high! > 0.36 && baseThreshold.high! - baseThreshold.low! < 0.15,
  );
  assert.equal(reachable, 1);
  assert.equal(meanCost, null);
});

test("equal probabilities go together", () => {
  const tied = { p: Float64Array.of(0.7, 0.7, 0.7, 0.2), weakSolved: Uint8Array.of(1, 1, 0, 0) };
  const small = { ...tied, strongSolved: null, weight: new Float64Array(4).fill(1) };
  const { baseThreshold, weakShare } = chooseThreshold(small, { kind: "weak_share", share: 0.5 }, options);
  assert.equal(weakShare?.value, 0.75);
  assert.ok(baseThreshold.value! > 0.2 && baseThreshold.value! <= 0.7);
});

test("shares of 0 and 1 are at the ends of [0, 1]", () => {
  const none = choose({ kind: "weak_share", share: 0 });
  assert.equal(none.weakShare?.value, 0);
  assert.equal(none.accuracy?.value, null);
  assert.ok(none.baseThreshold.value! <= 1);
  const all = choose({ kind: "weak_share", share: 1 });
  assert.equal(all.weakShare?.value, 1);
  assert.ok(all.baseThreshold.value! >= 0);
});

test("an accuracy of what the weak model serves: as many rows as possible", () => {
  const { accuracyOf, accuracy, weakShare, errorShare } = choose({ kind: "accuracy", accuracy: 0.8 });
  assert.equal(accuracyOf, "weak");
  assert.ok(accuracy!.value! >= 0.8 && accuracy!.value! < 0.82);
  // of a calibrated uniform judge the rows above 0.6 are solved in 80 %
  assertClose(weakShare?.value, 0.4, 0.12);
  assertClose(errorShare?.value, weakShare!.value! * (1 - accuracy!.value!));
});

test("an accuracy of the whole route, where the strong model's labels are known", () => {
  const { accuracyOf, accuracy, weakShare, errorShare } = choose(
    { kind: "accuracy", accuracy: 0.9 },
    { strongSolved },
  );
  assert.equal(accuracyOf, "route");
  assert.ok(accuracy!.value! >= 0.9 && accuracy!.value! < 0.905);
  assertClose(errorShare?.value, 1 - accuracy!.value!);
  // (1 − t)² / 2 = 0.1 are errors
  assertClose(weakShare?.value, 0.447, 0.07);
});

test("an accuracy that is out of reach gives no threshold, and a lucky handful of rows does not count", () => {
  const poor = Uint8Array.from(rows.p, (p, row) => (p > 0.98 ? 1 : row % 2));
  const { baseThreshold, reachable, weakShare, accuracy } = choose(
    { kind: "accuracy", accuracy: 0.99 },
    { weakSolved: poor },
  );
  assert.equal(baseThreshold.value, null);
  assert.equal(baseThreshold.low, null);
  assert.ok(reachable < 0.05);
  assert.deepEqual([weakShare, accuracy], [null, null]);
});

test("a cost: the weak model as little as needed", () => {
  const costs = { weak: 1, strong: 5 };
  const { meanCost, weakShare } = choose({ kind: "cost", cost: 3, ...costs });
  assertClose(meanCost?.value, 3);
  assertClose(weakShare?.value, 0.5);
  assert.equal(choose({ kind: "cost", cost: 6, ...costs }).weakShare?.value, 0);
  assert.equal(choose({ kind: "cost", cost: 1, ...costs }).weakShare?.value, 1);
  assert.equal(choose({ kind: "cost", cost: 0.5, ...costs }).baseThreshold.value, null);
});

test("weights count in shares", () => {
  const weight = Float64Array.from(rows.p, (p) => (p > 0.5 ? 3 : 1));
  const { weakShare, baseThreshold } = choose({ kind: "weak_share", share: 0.6 }, { weight });
  assertClose(weakShare?.value, 0.6, 0.01);
  assert.ok(baseThreshold.value! > 0.5);
});

test("seeded; no rows and costs the wrong way round are refused", () => {
  const target = { kind: "accuracy", accuracy: 0.7 } as const;
  assert.deepEqual(choose(target), choose(target));
  const empty = new Float64Array(0);
  const none = { p: empty, weakSolved: new Uint8Array(0), strongSolved: null, weight: empty };
  assert.throws(() => chooseThreshold(none, target, options), RangeError);
  assert.throws(() => choose({ kind: "cost", cost: 1, weak: 2, strong: 2 }), RangeError);
});
