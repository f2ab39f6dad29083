import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChoiceRows, describeChoice } from "../../../src/evaluate/model-choice.js";
import { assertClose } from "../../support/train/reference.js";

const pool: ChoiceRows = {
  outputNames: ["dear", "cheap", "middle"],
  p: [
    Float64Array.of(0.9, 0.8, 0.9, 0.7),
    Float64Array.of(0.8, 0.2, 0.85, 0.1),
    Float64Array.of(0.5, 0.7, 0.2, 0.1),
  ],
  solved: [Uint8Array.of(1, 1, 0, 1), Uint8Array.of(1, 0, 1, 0), Uint8Array.of(0, 1, 0, 0)],
  weight: new Float64Array(4).fill(1),
};
const options = { seed: 1, resamples: 200, costs: [10, 1, 4] };

test("oracle, best single model and the cost-coverage curve", () => {
  const report = describeChoice(pool, options);
  assert.equal(report.rows, 4);
  assert.equal(report.bestSingle, "dear");
  assert.deepEqual(
    report.outputs.map(({ output, solvedShare, meanCost }) => [output, solvedShare.value, meanCost?.value]),
    [
      ["dear", 0.75, 10],
      ["cheap", 0.5, 1],
      ["middle", 0.25, 4],
    ],
  );
  // cheap, middle, cheap, dear
  assert.equal(report.oracle.solvedShare.value, 1);
  assert.equal(report.oracle.meanCost?.value, 4);
  const [likeliest, tolerant, cheapest] = [0, 0.1, 1].map((at) =>
    report.curve.find(({ tolerance }) => tolerance === at),
  );
  assert.deepEqual([likeliest?.solvedShare.value, likeliest?.meanCost?.value], [0.75, 10]);
  assert.deepEqual(likeliest?.shares, [1, 0, 0]);
  // cheap at 0.8 of 0.9, middle at 0.7 of 0.8, cheap, dear
  assert.deepEqual([tolerant?.solvedShare.value, tolerant?.minusBestSingle.value], [1, 0.25]);
  assert.deepEqual(tolerant?.shares, [0.25, 0.5, 0.25]);
  assert.deepEqual([cheapest?.solvedShare.value, cheapest?.meanCost?.value], [0.5, 1]);
  for (const { minusBestSingle } of report.curve) assert.ok(minusBestSingle.low! <= minusBestSingle.high!);
});

test("where no model solves a row, the oracle pays for the cheapest", () => {
  const none = { ...pool, solved: pool.solved.map(() => new Uint8Array(4)) };
  const { oracle } = describeChoice(none, options);
  assert.deepEqual([oracle.solvedShare.value, oracle.meanCost?.value], [0, 1]);
});

test("without costs there is one point, the likeliest model, and no cost", () => {
  const report = describeChoice(pool, { ...options, costs: null });
  assert.deepEqual(
    report.curve.map(({ tolerance, meanCost }) => [tolerance, meanCost]),
    [[0, null]],
  );
  assert.equal(report.oracle.meanCost, null);
  assert.equal(report.oracle.solvedShare.value, 1);
});

test("the usual curve runs from 0 to 1, and weights count", () => {
  const report = describeChoice({ ...pool, weight: Float64Array.of(1, 1, 5, 1) }, options);
  assert.equal(report.curve.length, 21);
  assert.equal(report.curve.at(-1)?.tolerance, 1);
  assert.equal(report.bestSingle, "cheap");
  assertClose(report.outputs[1]?.solvedShare.value, 6 / 8);
});
