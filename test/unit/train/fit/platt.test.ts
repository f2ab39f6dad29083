import assert from "node:assert/strict";
import { test } from "node:test";
import { calibrate, sigmoid } from "../../../../src/head/head.js";
import { fitCalibrations, fitPlatt, keepsOrder } from "../../../../src/train/fit/platt.js";
import { createRandom } from "../../../../src/train/numeric/random.js";
import { fitReference } from "../../../support/train/fit-reference.js";
import { assertClose, labelRow } from "../../../support/train/reference.js";

test("slope and intercept as scikit-learn's logistic regression on Platt's targets", () => {
  const { platt } = fitReference();
  const found = fitPlatt(platt);
  assertClose(found?.slope, platt.slope, 1e-5);
  assertClose(found?.intercept, platt.intercept, 1e-5);
});

/** Logits whose true probability is sigmoid(0.5 × logit − 0.7). */
function distorted(rows: number) {
  const random = createRandom(3);
  const logits = Float64Array.from({ length: rows }, () => 3 * random.normal());
  const solved = Array.from(logits, (logit) => random.uniform() < sigmoid(0.5 * logit - 0.7));
  return { probability: logits.map(sigmoid), solved };
}

test("a known slope and intercept are recovered", () => {
  const { probability, solved } = distorted(20_000);
  const found = fitPlatt({
    probability,
    solved: solved.map(Number),
    weight: new Float64Array(20_000).fill(1),
  });
  assertClose(found?.slope, 0.5, 0.03);
  assertClose(found?.intercept, -0.7, 0.05);
});

test("each output gets its own, from its known labels, and serving applies it", () => {
  const { probability, solved } = distorted(4000);
  const both = Float64Array.from({ length: 12_000 }, (_, place) => probability[Math.floor(place / 3)]!);
  const labels = solved.map((label, row) => {
    return labelRow({ id: `${row}`, labels: [label, row % 2 === 0 ? label : null, true] });
  });
  const calibration = fitCalibrations(both, labels, 3);
  const head = { outputNames: ["a", "b", "c"], blocks: [], members: [], calibration };
  assertClose(head.calibration[0]?.slope, 0.5, 0.05);
  assertClose(head.calibration[1]?.slope, 0.5, 0.08);
  assert.notDeepEqual(head.calibration[0], head.calibration[1]);
  assert.equal(head.calibration[2], null);
  const [p] = calibrate(head, Float64Array.of(0.5, 0.5, 0.5));
  assertClose(p, sigmoid(head.calibration[0]!.intercept), 1e-12);
});

test("classes that are parted, and probabilities of 0 and 1, stay finite", () => {
  const found = fitPlatt({ probability: [0, 0.1, 0.9, 1], solved: [0, 0, 1, 1], weight: [1, 1, 1, 1] });
  assert.ok(found && Number.isFinite(found.slope) && found.slope > 0 && Number.isFinite(found.intercept));
});

test("probabilities that run against the labels have a slope that does not keep their order", () => {
  const { probability, solved } = distorted(2000);
  const [right, against] = [solved.map(Number), solved.map((label) => Number(!label))].map((labels) =>
    fitPlatt({ probability, solved: labels, weight: new Float64Array(2000).fill(1) }),
  );
  assert.ok(keepsOrder(right!));
  assertClose(against!.slope, -right!.slope, 1e-3);
  assert.ok(!keepsOrder(against!));
  assert.ok(!keepsOrder({ slope: 0, intercept: 1 }));
  assert.ok(!keepsOrder({ slope: Number.NaN, intercept: 1 }));
});

test("one class has no calibration, also when the other's rows weigh nothing", () => {
  assert.equal(fitPlatt({ probability: [0.2, 0.4], solved: [1, 1], weight: [1, 1] }), null);
  assert.equal(fitPlatt({ probability: [0.2, 0.4], solved: [1, 0], weight: [1, 0] }), null);
});
