import assert from "node:assert/strict";
import { test } from "node:test";
import { pooledKey } from "../../../src/features/pooled.js";
import { transformBlock } from "../../../src/head/transform.js";
import type { FeatureBlock } from "../../../src/head/weights.js";

const block: FeatureBlock = {
  layers: [4, 1],
  pooling: "mean",
  hiddenSize: 2,
  combination: { kind: "concat" },
  scalerMean: Float32Array.of(1, 2, 3, 4),
  scalerScale: Float32Array.of(2, 4, 0.5, 1),
  pcaMean: Float32Array.of(0.5, -1, 2, 0),
  pcaSize: 3,
  pcaComponents: Float32Array.of(1, 0, 0, 0, 0, 1, 1, 0, 1, 2, 3, -4),
};
const pooled = new Map([
  [pooledKey(1, "mean"), Float32Array.of(4, 7)],
  [pooledKey(4, "mean"), Float32Array.of(3, 6)],
  [pooledKey(4, "last"), Float32Array.of(-9, -9)],
  [pooledKey(1, "last"), Float32Array.of(-9, -9)],
]);

test("layers are joined in the block's order, scaled, centred and projected", () => {
  // x = 3, 6, 4, 7; scaled 1, 1, 2, 3; centred 0.5, 2, 0, 3
  assert.deepEqual([...transformBlock(block, pooled)], [0.5, 2, 0.5 + 4 + 0 - 12]);
});

test("the block's pooling mode is the one that is read", () => {
  // x = -9 four times; scaled -5, -2.75, -24, -13; centred -5.5, -1.75, -26, -13
  assert.deepEqual(
    [...transformBlock({ ...block, pooling: "last" }, pooled)],
    [-5.5, -27.75, -5.5 - 3.5 - 78 + 52],
  );
});

test("a hidden state that is missing or of another size is a fault", () => {
  assert.throws(() => transformBlock({ ...block, layers: [4, 2] }, pooled), /hidden state 2 \(mean\)/);
  assert.throws(() => transformBlock({ ...block, hiddenSize: 3 }, pooled), /not of size 3/);
});

test("standardised_mean centres and scales each layer by itself, then takes the mean of the layers", () => {
  const combined: FeatureBlock = {
    ...block,
    combination: {
      kind: "standardised_mean",
      layerMean: Float32Array.of(1, 2, 0, 3), // layer 4, then layer 1
      layerScale: Float32Array.of(2, 1, 4, 0.5),
    },
    scalerMean: Float32Array.of(0, 0),
    scalerScale: Float32Array.of(1, 1),
    pcaMean: Float32Array.of(0, 0),
    pcaSize: 2,
    pcaComponents: Float32Array.of(1, 0, 0, 1),
  };
  // layer 4: [(3 − 1) / 2, (6 − 2) / 1] = [1, 4]; layer 1: [4 / 4, (7 − 3) / 0.5] = [1, 8]
  assert.deepEqual([...transformBlock(combined, pooled)], [1, 6]);
});
