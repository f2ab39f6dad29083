import assert from "node:assert/strict";
import { test } from "node:test";
import { linear, memberLogits } from "../../../src/head/mlp.js";
import type { Linear, Member } from "../../../src/head/weights.js";

const layer = (outputSize: number, weight: number[], bias: number[]): Linear => ({
  inputSize: weight.length / outputSize,
  outputSize,
  weight: Float32Array.from(weight),
  bias: Float32Array.from(bias),
});

test("a linear layer is W·x + b, row by row", () => {
  const wide = layer(2, [1, 2, 3, 4, 5, -6], [0.5, -1]);
  assert.deepEqual([...linear(wide, Float64Array.of(2, 3, 1), false)], [11.5, 16]);
  assert.deepEqual([...linear(wide, Float64Array.of(0, 0, 2), false)], [6.5, -13]);
});

test("ReLU cuts what is negative and leaves the rest", () => {
  assert.deepEqual([...linear(layer(3, [1, -1, 0], [0, 0, 0]), Float64Array.of(2), true)], [2, 0, 0]);
});

test("a layer's sum is float64", () => {
  assert.deepEqual(
    [...linear(layer(1, [2 ** 30, 1, -(2 ** 30)], [0]), Float64Array.of(1, 1, 1), false)],
    [1],
  );
});

test("a member has ReLU between its layers and none after the last", () => {
  const member: Member = {
    kind: "shared",
    layers: [
      layer(2, [1, 1, 1, -1], [0, 0]), // [3, -1] → ReLU [3, 0]
      layer(2, [-1, 5, 1, 5], [1, -1]), // [-2, 2] → ReLU [0, 2]
      layer(2, [7, -3, 7, 1], [0.5, 0]), // [-5.5, 2]
    ],
  };
  assert.deepEqual([...memberLogits(member, Float64Array.of(1, 2))], [-5.5, 2]);
});

test("a per-output member runs each output's own adapter and head around one trunk, ReLU between", () => {
  const member: Member = {
    kind: "per_output",
    adapters: [layer(2, [1, 0, 0, 1], [0, 0]), layer(2, [0, 1, -1, 0], [0, 0])], // [1, 2] → [1, 2] and [2, -1] → [2, 0]
    trunk: layer(2, [1, 1, 1, -1], [0, 0]), // [3, -1] → [3, 0] and [2, 2]
    heads: [layer(1, [2, 5], [1]), layer(1, [1, -3], [0])], // 7 and -4
  };
  assert.deepEqual([...memberLogits(member, Float64Array.of(1, 2))], [7, -4]);
});
