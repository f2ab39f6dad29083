import assert from "node:assert/strict";
import { test } from "node:test";
import { type PooledVectors, pooledKey } from "../../../src/features/pooled.js";
import { calibrate, probabilities, requiredFeatures, sigmoid } from "../../../src/head/head.js";
import type { FeatureBlock, HeadWeights, Member } from "../../../src/head/weights.js";

/** hands the hidden state of one layer through: scale 1, identity components */
const identity = (layer: number, pooling: "mean" | "last"): FeatureBlock => ({
  layers: [layer],
  pooling,
  hiddenSize: 1,
  combination: { kind: "concat" },
  scalerMean: Float32Array.of(0),
  scalerScale: Float32Array.of(1),
  pcaMean: Float32Array.of(0),
  pcaSize: 1,
  pcaComponents: Float32Array.of(1),
});
/** one layer from two features to two outputs */
const member = (weight: number[], bias: number[]): Member => ({
  kind: "shared",
  layers: [{ inputSize: 2, outputSize: 2, weight: Float32Array.from(weight), bias: Float32Array.from(bias) }],
});
const weights: HeadWeights = {
  outputNames: ["weak", "strong"],
  blocks: [identity(7, "mean"), identity(2, "last")],
  members: [member([1, 0, 0, 1], [0, 0]), member([0, 1, 1, 0], [0, 0.5])],
  calibration: [null, null],
};
const pooled: PooledVectors = new Map([
  [pooledKey(7, "mean"), Float32Array.of(2)],
  [pooledKey(2, "last"), Float32Array.of(-1)],
]);

test("sigmoid at its extremes is 0 and 1, never NaN", () => {
  for (const [logit, p] of [
    [0, 0.5],
    [1000, 1],
    [-1000, 0],
    [Number.POSITIVE_INFINITY, 1],
    [Number.NEGATIVE_INFINITY, 0],
    [Math.log(3), 0.75],
    [-Math.log(3), 0.25],
  ] as const) {
    assert.ok(Math.abs(sigmoid(logit) - p) < 1e-15, `${logit}`);
  }
  assert.ok(sigmoid(-700) > 0, "a small probability is not lost");
});

test("probabilities are the members' mean, per output, of features side by side", () => {
  const p = (logit: number) => 1 / (1 + Math.exp(-logit));
  // features 2, -1; logits of the members: 2, -1 and -1, 2.5
  const [weak, strong] = probabilities(weights, pooled);
  assert.ok(Math.abs(weak! - (p(2) + p(-1)) / 2) < 1e-15);
  assert.ok(Math.abs(strong! - (p(-1) + p(2.5)) / 2) < 1e-15);
});

test("the mean is taken of probabilities, not of logits", () => {
  const members = [member([0, 0, 0, 0], [1000, 0]), member([0, 0, 0, 0], [-10, 0])];
  assert.ok(Math.abs(probabilities({ ...weights, members }, pooled)[0]! - 0.5) < 1e-4);
});

test("an encoder is asked for each layer and mode once, sorted", () => {
  assert.deepEqual(requiredFeatures(weights), { layers: [2, 7], pooling: ["last", "mean"] });
  const twice = { ...weights, blocks: [identity(10, "mean"), identity(9, "mean"), identity(10, "mean")] };
  assert.deepEqual(requiredFeatures(twice), { layers: [9, 10], pooling: ["mean"] });
});

test("calibration maps each output through its own slope and intercept, and leaves the others", () => {
  const calibration = [{ slope: 2, intercept: -1 }, null];
  const [weak, strong] = calibrate({ ...weights, calibration }, Float64Array.of(sigmoid(0.75), 0.3));
  assert.ok(Math.abs(weak! - sigmoid(0.5)) < 1e-15);
  assert.equal(strong, 0.3);
  assert.deepEqual([...calibrate({ ...weights, calibration }, Float64Array.of(0, 1))], [0, 1]);
});
