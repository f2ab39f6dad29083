// A prompt with several answers is one row with their share. Whatever is made of it is what the answers, as
// rows of their own, would make; but for the Brier score, which is against the share.
import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluate } from "../../../src/evaluate/evaluate.js";
import { auc, createSample, ece } from "../../../src/evaluate/metrics.js";
import { chooseThreshold } from "../../../src/evaluate/threshold.js";
import { thresholdCurve } from "../../../src/evaluate/threshold-curve.js";
import { groupOrders, withinGroupAuc } from "../../../src/evaluate/within-group.js";
import { listWrongDecisions } from "../../../src/evaluate/wrong-decisions.js";
import { parseLabels } from "../../../src/labels/labels.js";
import { trainingData } from "../../../src/train/fit/fit.js";
import { fitLogistic } from "../../../src/train/fit/logistic.js";
import { createNetwork } from "../../../src/train/fit/network.js";
import { fitPlatt } from "../../../src/train/fit/platt.js";
import { fitConstant, fitGroupRate } from "../../../src/train/floors.js";
import { denseDesign } from "../../../src/train/numeric/design.js";
import { createRandom } from "../../../src/train/numeric/random.js";
import { largestDifference } from "../../support/fixtures.js";
import { flatten } from "../../support/train/fit-reference.js";
import { accuracy, brier, logLoss } from "../../support/train/mean-metrics.js";
import { assertClose, labelRow } from "../../support/train/reference.js";
import { textReader } from "../../support/train/text-reader.js";

/** A prompt: what the judge says, and its answers. */
const prompts: readonly (readonly [p: number, answers: readonly number[]])[] = [
  [0.9, [1, 1, 0]],
  [0.8, [1]],
  [0.8, [0, 1]],
  [0.6, [1, 0, 0, 0]],
  [0.4, [0, 0, 1]],
  [0.3, [1, 1]],
  [0.1, [0, 0, 0]],
];
const shareOf = (answers: readonly number[]) =>
  answers.reduce((sum, value) => sum + value, 0) / answers.length;
const p = Float64Array.from(prompts, ([value]) => value);
const share = Float64Array.from(prompts, ([, answers]) => shareOf(answers));
const count = Float64Array.from(prompts, ([, answers]) => answers.length);
const single = prompts.flatMap(([value, answers]) => answers.map((answer) => [value, answer] as const));
const singleP = Float64Array.from(single, ([value]) => value);
const singleSolved = Float64Array.from(single, ([, answer]) => answer);
const once = new Float64Array(single.length).fill(1);

const options = { seed: 1, resamples: 10 };

test("AUC, log loss, accuracy, calibration error and thresholds are those of the answers", () => {
  const merged = createSample(p, share, count);
  const separate = createSample(singleP, singleSolved);
  for (const metric of [auc, logLoss, ece]) assertClose(metric(merged, count), metric(separate, once)!);
  assertClose(accuracy(merged, count, 0.5), accuracy(separate, once, 0.5)!);
  const [first] = thresholdCurve(merged, [0.5], options);
  const [wanted] = thresholdCurve(separate, [0.5], options);
  assertClose(first!.weakShare.value, wanted!.weakShare.value!);
  assertClose(first!.errorShare.value, wanted!.errorShare.value!);
  const groups = prompts.map((_, index) => (index % 2 === 0 ? "a" : "b"));
  const singleGroups = prompts.flatMap(([, answers], index) => answers.map(() => groups[index]!));
  assertClose(
    withinGroupAuc(merged, groupOrders(merged, groups), count),
    withinGroupAuc(separate, groupOrders(separate, singleGroups), once)!,
  );
});

test("the Brier score is against the share: a judge that tells it has 0", () => {
  const sample = createSample(Float64Array.of(2 / 3, 0.5), Float64Array.of(2 / 3, 1), Float64Array.of(3, 1));
  assertClose(brier(sample, sample.weight), 0.25 / 4);
});

test("logistic regression and Platt's calibration learn the same from shares as from answers", () => {
  const features = (values: Float64Array) =>
    denseDesign(
      values.map((value) => Math.log(value / (1 - value))),
      1,
    );
  const merged = fitLogistic(features(p), share, { sampleWeight: count });
  const separate = fitLogistic(features(singleP), singleSolved);
  assertClose(merged.weight[0], separate.weight[0]!, 1e-6);
  assertClose(merged.intercept, separate.intercept, 1e-6);
  const calibration = fitPlatt({ probability: p, solved: share, weight: count });
  const wanted = fitPlatt({ probability: singleP, solved: singleSolved, weight: once });
  assertClose(calibration?.slope, wanted!.slope, 1e-6);
  assertClose(calibration?.intercept, wanted!.intercept, 1e-6);
});

test("the network's loss has the same slope", () => {
  const gradientOf = (rows: readonly ReturnType<typeof labelRow>[], values: Float64Array) => {
    const network = createNetwork({ sizes: [1, 4, 1], dropout: [0], batchSize: rows.length });
    network.initialise(createRandom(5));
    const data = trainingData({ labels: rows, outputNames: ["weak"] }, Float32Array.from(values));
    network.backward(data, Uint32Array.from(rows.keys()), createRandom(1));
    return flatten(network.gradientLayers());
  };
  const merged = prompts.map(([, answers], index) => {
    return labelRow({ id: `${index}`, labels: [shareOf(answers)], samples: [answers.length] });
  });
  const separate = single.map(([, answer], index) => labelRow({ id: `${index}`, labels: [answer] }));
  const difference = largestDifference(gradientOf(merged, p), gradientOf(separate, singleP));
  assert.ok(difference < 1e-6, `${difference}`);
});

/** As JSON lines, one for each answer. */
const { rows } = parseLabels(
  prompts
    .flatMap(([, answers], index) =>
      answers.map((answer) => ({
        prompt: `prompt ${index}`,
        group: index < 4 ? "a" : "b",
        labels: { weak: answer === 1 },
      })),
    )
    .map((row) => JSON.stringify(row))
    .join("\n"),
  "jsonl",
  textReader,
);

test("floors count answers", () => {
  const asked = [labelRow({ id: "x", group: "b" })];
  assertClose(fitConstant(rows, 1).predict(asked)[0]![0], 8 / 18);
  assertClose(fitGroupRate(rows, 1).predict(asked)[0]![0], 3 / 8);
});

test("an evaluation is of prompts, its figures over their answers", () => {
  const report = evaluate(
    { rows, outputNames: ["weak"], judge: { name: "judge", byOutput: [p] }, against: [] },
    { seed: 1, resamples: 50, threshold: 0.5, costs: null },
  );
  const { all } = report.outputs[0]!;
  assert.deepEqual([report.rows, report.records, all.rows, all.answers], [7, 18, 7, 18]);
  assertClose(all.solvedShare, 8 / 18);
  const separate = createSample(singleP, singleSolved);
  assertClose(all.judge.auc.value, auc(separate, once)!);
  const squares = prompts.reduce(
    (sum, [, answers], row) => sum + answers.length * (p[row]! - shareOf(answers)) ** 2,
    0,
  );
  assertClose(all.judge.brier.value, squares / 18);
});

test("a route's accuracy counts the answers of both models", () => {
  const choice = chooseThreshold(
    {
      p: Float64Array.of(0.9, 0.2),
      weakSolved: Float64Array.of(0.75, 0.25),
      strongSolved: Float64Array.of(1, 0.5),
      weight: Float64Array.of(4, 4),
    },
    { kind: "weak_share", share: 0.5 },
    { seed: 1, resamples: 10 },
  );
  assertClose(choice.weakShare?.value, 0.5);
  assertClose(choice.accuracy?.value, (0.75 + 0.5) / 2);
  assertClose(choice.errorShare?.value, 0.25 / 2);
});

test("a decision is wrong where most answers speak against it", () => {
  const mixed = [
    labelRow({ id: "mostly", labels: [0.75] }),
    labelRow({ id: "half", labels: [0.5] }),
    labelRow({ id: "hardly", labels: [0.25] }),
  ];
  const decided = (value: number) =>
    listWrongDecisions(mixed, new Float64Array(3).fill(value), { output: 0, threshold: 0.5 })
      .slice(1)
      .map(([id, , , , , solved, error]) => [id, solved, error]);
  assert.deepEqual(decided(0.9), [["hardly", "0.2500", "weak_fails"]]);
  assert.deepEqual(decided(0.1), [["mostly", "0.7500", "strong_wasted"]]);
});
