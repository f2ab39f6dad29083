// What thresholds do, held against a count of the rows, and their intervals against the binomial's.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSample, goesToWeak } from "../../../src/evaluate/metrics.js";
import { thresholdCurve } from "../../../src/evaluate/threshold-curve.js";
import { createRandom } from "../../../src/train/numeric/random.js";
import { assertClose } from "../../support/train/reference.js";

const options = { seed: 1 };
const sampleOf = (p: readonly number[], solved: readonly number[], weight?: readonly number[]) =>
  createSample(
    Float64Array.from(p),
    Uint8Array.from(solved),
    weight === undefined ? undefined : Float64Array.from(weight),
  );

test("a threshold's weak share, error share and accuracy", () => {
  const curve = thresholdCurve(sampleOf([0.9, 0.8, 0.7, 0.2], [1, 0, 1, 1]), [0, 0.7, 0.95], options);
  const values = curve.map((point) => [
    point.threshold,
    ...[point.weakShare, point.errorShare, point.weakAccuracy].map(({ value }) => value),
  ]);
  assert.deepEqual(values[0], [0, 1, 0.25, 0.75]);
  assert.deepEqual(values[1]!.slice(0, 3), [0.7, 0.75, 0.25]);
  assertClose(values[1]![3], 2 / 3);
  assert.deepEqual(values[2], [0.95, 0, 0, null]);
  assert.deepEqual(thresholdCurve(sampleOf([], []), [0.5], options), []);
  assert.deepEqual(thresholdCurve(sampleOf([0.5], [1], [0]), [0.5], options), []);
});

test("weights count, equality goes to the weak model, and every threshold is as if it were alone", () => {
  const random = createRandom(3);
  const p = Array.from({ length: 200 }, () => random.below(21) / 20);
  const solved = p.map((value) => (random.uniform() < value ? 1 : 0));
  const weight = p.map(() => random.below(4));
  const thresholds = [0.05, 0.3, 0.5, 0.8, 1];
  const curve = thresholdCurve(sampleOf(p, solved, weight), thresholds, { ...options, resamples: 2 });
  const sum = (counts: (row: number) => boolean) =>
    weight.reduce((total, value, row) => total + (counts(row) ? value : 0), 0);
  for (const { threshold, weakShare, errorShare, weakAccuracy } of curve) {
    const sent = sum((row) => goesToWeak(p[row]!, threshold));
    const failed = sum((row) => goesToWeak(p[row]!, threshold) && solved[row] === 0);
    assertClose(weakShare.value, sent / sum(() => true));
    assertClose(errorShare.value, failed / sum(() => true));
    assertClose(weakAccuracy.value, 1 - failed / sent);
  }
});

test("intervals are those of a share of so many rows", () => {
  const rows = 1000;
  const p = Array.from({ length: rows }, (_, row) => (row % 4 === 0 ? 0.9 : 0.1));
  const solved = p.map((_, row) => (row % 8 === 0 ? 1 : 0));
  const [point] = thresholdCurve(sampleOf(p, solved), [0.8], options);
  for (const [{ value, low, high }, size] of [
    [point!.weakShare, rows],
    [point!.errorShare, rows],
    [point!.weakAccuracy, rows / 4],
  ] as const) {
    const wanted = 2 * 1.96 * Math.sqrt((value! * (1 - value!)) / size);
    assert.ok(Math.abs((high! - low!) / wanted - 1) < 0.1, `${high! - low!}, wanted ${wanted}`);
    assert.ok(low! < value! && value! < high!);
  }
});
