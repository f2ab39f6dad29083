import assert from "node:assert/strict";
import { test } from "node:test";
import { type EvaluateInput, evaluate, type Predictions } from "../../../src/evaluate/evaluate.js";
import { auc, createSample } from "../../../src/evaluate/metrics.js";
import { metricNames } from "../../../src/evaluate/output-figures.js";
import type { LabelRow } from "../../../src/labels/label-row.js";
import { createRandom } from "../../../src/train/numeric/random.js";
import { refusal } from "../../support/refusal.js";
import { brier } from "../../support/train/mean-metrics.js";
import { assertClose, labelRow } from "../../support/train/reference.js";

const count = 240;
const random = createRandom(21);
const ability = Float64Array.from({ length: count }, () => random.uniform());
const rows: LabelRow[] = Array.from(ability, (p, index) =>
  labelRow({
    id: `r${index}`,
    group: index % 3 === 0 ? "sums" : "words",
    source: index < 200 ? "measured" : "distilled",
    labels: [random.uniform() < p, index % 4 === 0 ? null : random.uniform() < 0.8],
  }),
);
const noise = (amount: number) => ability.map((p) => Math.min(Math.max(p + amount * random.normal(), 0), 1));
const judge: Predictions = { name: "judge", byOutput: [ability, new Float64Array(count).fill(0.8)] };
const worse: Predictions = { name: "worse", byOutput: [noise(0.8), noise(0.1)] };
const recorded = ability.map((p, index) => (index % 2 === 0 ? p : Number.NaN));
const scores: Predictions = { name: "scores", byOutput: [recorded, null] };
const input: EvaluateInput = {
  rows,
  outputNames: ["weak", "strong"],
  judge,
  against: [worse, scores],
};
const options = { seed: 9, resamples: 300, threshold: 0.5, costs: [1, 10] };
const report = evaluate(input, options);
const [weak, strong] = report.outputs;

test("the judge's figures are the metrics of the labelled rows, inside their intervals", () => {
  const solved = Uint8Array.from(rows, ({ labels }) => labels[0]!);
  const sample = createSample(ability, solved);
  assertClose(weak?.all.judge.auc.value, auc(sample, sample.weight)!);
  assertClose(weak?.all.judge.brier.value, brier(sample, sample.weight)!);
  assert.equal(weak?.all.rows, count);
  assertClose(weak?.all.solvedShare, solved.reduce((sum, value) => sum + value, 0) / count);
  for (const name of metricNames) {
    const { value, low, high } = weak!.all.judge[name];
    assert.ok(low! < high! && value! > low! - 0.05 && value! < high! + 0.05, name);
  }
});

test("null labels are left out", () => {
  assert.equal(strong?.all.rows, 180);
  assert.equal(strong?.all.judge.auc.value, 0.5);
});

test("differences are paired: on the same rows, with their own intervals", () => {
  const [comparison] = weak!.all.against;
  assert.equal(comparison?.name, "worse");
  assert.equal(comparison?.rows, count);
  for (const name of metricNames) {
    const difference = weak!.all.judge[name].value! - comparison!.figures[name].value!;
    assertClose(comparison?.judgeMinus[name].value, difference);
  }
  const { low, high } = comparison!.judgeMinus.auc;
  assert.ok(low! > 0, "the better judge is better beyond chance");
  const { judge: own } = weak!.all;
  assert.ok(
    high! - low! <
      own.auc.high! - own.auc.low! + comparison!.figures.auc.high! - comparison!.figures.auc.low!,
  );
});

test("recorded scores with gaps are compared on the rows they have, and not at all where there are none", () => {
  const comparison = weak!.all.against[1];
  assert.equal(comparison?.name, "scores");
  assert.equal(comparison?.rows, count / 2);
  // the same predictions, so no difference and full agreement
  assert.deepEqual(comparison?.judgeMinus.auc, { value: 0, low: 0, high: 0 });
  assert.deepEqual(comparison?.agreement, { value: 1, low: 1, high: 1 });
  assert.deepEqual(
    strong?.all.against.map(({ name }) => name),
    ["worse"],
  );
});

test("groups and sources have sections of their own, the largest first", () => {
  assert.deepEqual(
    weak?.groups.map(({ name, rows: size }) => [name, size]),
    [
      ["words", 160],
      ["sums", 80],
    ],
  );
  assert.deepEqual(
    weak?.sources.map(({ name, rows: size }) => [name, size]),
    [
      ["measured", 200],
      ["distilled", 40],
    ],
  );
  const unnamed = rows.map((row) => ({ ...row, group: null, source: null }));
  const [output] = evaluate({ ...input, rows: unnamed }, options).outputs;
  assert.deepEqual([output?.groups, output?.sources], [[], []]);
  assert.equal(output?.all.judge.withinGroupAuc.value, null);
});

test("thresholds run for everyone who has predictions", () => {
  assert.deepEqual(
    weak?.thresholds.map(({ name, points }) => [name, points.length]),
    [
      ["judge", 19],
      ["worse", 19],
      ["scores", 19],
    ],
  );
  const shares = weak!.thresholds[0]!.points.map(({ weakShare }) => weakShare.value!);
  assert.deepEqual(
    shares,
    shares.toSorted((a, b) => b - a),
  );
});

test("pools have the rows with every label, for those who predict every output", () => {
  assert.deepEqual(
    report.pools.map(({ name, rows: size, curve }) => [name, size, curve.length]),
    [
      ["judge", 180, 21],
      ["worse", 180, 21],
    ],
  );
  const single = {
    ...input,
    outputNames: ["weak"],
    rows: rows.map((row) => ({ ...row, labels: [row.labels[0]!] })),
  };
  const one = (predictions: Predictions) => ({ ...predictions, byOutput: predictions.byOutput.slice(0, 1) });
  assert.deepEqual(evaluate({ ...single, judge: one(judge), against: [] }, options).pools, []);
});

test("copies of a prompt lower the share of distinct texts", () => {
  assert.equal(report.distinctShare, 1);
  const copied = rows.map((row, index) => (index < 60 ? { ...row, copies: 5 } : row));
  const { records, distinctShare, rows: size } = evaluate({ ...input, rows: copied }, options);
  assert.deepEqual([size, records, distinctShare], [240, 480, 0.5]);
});

test("weights count", () => {
  const weighted = rows.map((row, index) => ({ ...row, weight: index < 200 ? 1e-9 : 1 }));
  const [output] = evaluate({ ...input, rows: weighted }, options).outputs;
  assertClose(output?.all.judge.brier.value, weak!.sources[1]!.judge.brier.value!, 1e-6);
});

test("the report is plain JSON and the same for the same seed", () => {
  assert.deepEqual(JSON.parse(JSON.stringify(report)), report);
  assert.deepEqual(evaluate(input, options), report);
  assert.notDeepEqual(evaluate(input, { ...options, seed: 10 }), report);
});

test("an output without labels has figures of null", () => {
  const unlabelled = rows.map((row) => ({ ...row, labels: [row.labels[0]!, null] }));
  const [, output] = evaluate({ ...input, rows: unlabelled }, options).outputs;
  assert.equal(output?.all.rows, 0);
  assert.equal(output?.all.solvedShare, null);
  assert.deepEqual(output?.all.judge.auc, { value: null, low: null, high: null });
});

test("refused: no rows", () => {
  refusal("usage", () => evaluate({ ...input, rows: [] }, options));
});

for (const [name, byOutput] of [
  ["too few outputs", [ability]],
  ["too few rows", [ability.slice(1), ability]],
  ["a p above 1", [ability.map((p) => p + 1), ability]],
  ["a gap", [recorded, ability]],
  ["no predictions for an output", [ability, null]],
] as const) {
  test(`a judge with ${name} is a fault of the caller`, () => {
    assert.throws(() => evaluate({ ...input, judge: { name: "judge", byOutput } }, options), RangeError);
  });
}
