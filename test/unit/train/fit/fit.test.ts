import assert from "node:assert/strict";
import { test } from "node:test";
import { memberLogits } from "../../../../src/head/mlp.js";
import { fitHead, type TrainSeeds, trainingData } from "../../../../src/train/fit/fit.js";
import { createSeedWorkers } from "../../../../src/train/fit/fit-workers.js";
import { type MemberTask, trainMember } from "../../../../src/train/fit/member.js";
import { createNetwork } from "../../../../src/train/fit/network.js";
import { predictTable } from "../../../../src/train/predict.js";
import { smallRecipe, toyInput } from "../../../support/train/fit-reference.js";
import { assertClose } from "../../../support/train/reference.js";

const options = { pcaSize: 6, recipe: smallRecipe, seeds: [42, 43, 44, 45], keep: 2 };
const input = toyInput(300);

/** A task whose features are the toy's raw values. */
function toyTask(recipe = smallRecipe): MemberTask {
  const data = trainingData(input, input.table.data);
  const rows = Uint32Array.from({ length: 300 }, (_, row) => row);
  return { data, trainRows: rows.subarray(60), validationRows: rows.subarray(0, 60), recipe };
}

test("a separable problem is learned: unseen rows are judged right", async () => {
  const { weights } = await fitHead(input, options);
  const unseen = toyInput(200, 2);
  const predicted = predictTable(weights, unseen.table);
  const right = predicted.filter((p, place) => {
    return p > 0.5 === (unseen.labels[Math.floor(place / 2)]!.labels[place % 2] === 1);
  });
  assert.ok(right.length / 400 > 0.93, `${right.length} of 400`);
});

test("the best seeds are kept, and the facts say so", async () => {
  const seen: number[] = [];
  const { weights, facts } = await fitHead(input, { ...options, onMember: ({ seed }) => seen.push(seed) });
  assert.deepEqual(seen, options.seeds);
  assert.equal(weights.members.length, 2);
  assert.deepEqual(weights.calibration, [null, null]);
  assert.deepEqual([facts.rows, facts.validationRows], [300, 45]);
  assert.deepEqual(
    facts.members.map(({ kept }) => kept),
    [true, true, false, false],
  );
  const losses = facts.members.map(({ validationLoss }) => validationLoss);
  assert.deepEqual(
    losses,
    losses.toSorted((a, b) => a - b),
  );
  assert.deepEqual(facts.members.map(({ seed }) => seed).sort(), options.seeds);
  assertClose(
    facts.explainedVarianceRatio.reduce((sum, ratio) => sum + ratio, 0),
    1,
    1e-9,
  );
});

test("same bytes twice, and with one worker or two", async () => {
  const heads = [];
  for (const trainSeeds of [undefined, undefined, createSeedWorkers(1), createSeedWorkers(2)]) {
    heads.push(await fitHead(input, { ...options, ...(trainSeeds && { trainSeeds }) }));
  }
  for (const head of heads.slice(1)) assert.deepEqual(head, heads[0]);
});

test("another seed gives another member", () => {
  const [first, second] = [1, 2].map((seed) => trainMember(toyTask({ ...smallRecipe, maxEpochs: 2 }), seed));
  assert.notDeepEqual(first!.layers, second!.layers);
});

test("early stopping restores the best weights and waits no longer than its patience", () => {
  // so fast that it overshoots
  const recipe = { ...smallRecipe, learningRate: 0.1, maxEpochs: 60, dropout: [0, 0] };
  const task = toyTask(recipe);
  const { bestEpoch, epochs, validationLoss, layers } = trainMember(task, 7);
  assert.equal(epochs, bestEpoch + recipe.patience);
  const network = createNetwork({ sizes: [6, 12, 7, 2], dropout: [0, 0], batchSize: 32 });
  network.load(layers);
  assert.equal(network.loss(task.data, task.validationRows), validationLoss);
  const stopped = trainMember({ ...task, recipe: { ...recipe, maxEpochs: bestEpoch } }, 7);
  assert.deepEqual(stopped.layers, layers);
});

test("the member kept has the validation loss that serving's forward gives", () => {
  const task = toyTask();
  const { layers, validationLoss } = trainMember(task, 42);
  let sum = 0;
  for (const row of task.validationRows) {
    const logits = memberLogits(
      { kind: "shared", layers },
      Float64Array.from(input.table.data.subarray(row * 6, row * 6 + 6)),
    );
    logits.forEach((logit, output) => {
      sum += Math.log1p(Math.exp(logit)) - (task.data.target[row * 2 + output]! ? logit : 0);
    });
  }
  assertClose(validationLoss, sum / 120, 1e-6);
});

test("null labels are masked: what an unknown label might have been changes nothing", async () => {
  const labels = input.labels.map((row, index) => {
    return { ...row, labels: row.labels.map((label, output) => ((index + output) % 3 === 0 ? null : label)) };
  });
  const { target, weight } = trainingData({ ...input, labels }, input.table.data);
  assert.deepEqual([...weight.subarray(0, 6)], [0, 1, 1, 1, 1, 0]);
  const filled = target.map((value, place) => (weight[place] === 0 ? 1 : value));
  const task = toyTask();
  const members = [target, filled].map((given) => {
    return trainMember({ ...task, data: { ...task.data, target: given, weight } }, 42);
  });
  assert.deepEqual(members[0], members[1]);
});

test("a row of weight 0 on one side and no such row on the other train alike", () => {
  const recipe = { ...smallRecipe, batchSize: 300, maxEpochs: 3, dropout: [0, 0], patience: 9 };
  const task = toyTask(recipe);
  const weight = task.data.weight.map((value, place) => (place >= 590 ? 0 : value));
  const without = { ...task, trainRows: task.trainRows.subarray(0, 235) };
  const first = trainMember({ ...task, data: { ...task.data, weight } }, 1);
  const second = trainMember(without, 1);
  assertClose(first.validationLoss, second.validationLoss, 1e-4);
});

test("without validation rows every epoch runs", () => {
  const recipe = { ...smallRecipe, maxEpochs: 9, patience: 2 };
  const { epochs, bestEpoch } = trainMember({ ...toyTask(recipe), validationRows: new Uint32Array() }, 1);
  assert.deepEqual([epochs, bestEpoch], [9, 9]);
});

test("an error in a worker is the caller's", async () => {
  const broken: TrainSeeds = (task, seeds, onMember) => {
    return createSeedWorkers(2)({ ...task, recipe: { ...task.recipe, maxEpochs: 0 } }, seeds, onMember);
  };
  await assert.rejects(fitHead(input, { ...options, trainSeeds: broken }), /at least one epoch/);
});

test("shapes that do not fit and values that are not finite are refused", async () => {
  const data = input.table.data.slice();
  data[77] = Number.NaN;
  const wrong = [
    { ...input, labels: input.labels.slice(1) },
    { ...input, outputNames: ["sum"] },
    { ...input, table: { ...input.table, columns: 5 } },
    { ...input, table: { ...input.table, data } },
  ];
  for (const given of wrong) await assert.rejects(fitHead(given, options), RangeError);
  await assert.rejects(fitHead(input, { ...options, pcaSize: 7 }), RangeError);
});
