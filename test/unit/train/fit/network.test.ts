import assert from "node:assert/strict";
import { test } from "node:test";
import { memberLogits } from "../../../../src/head/mlp.js";
import { createAdam } from "../../../../src/train/fit/adam.js";
import { trainEpoch } from "../../../../src/train/fit/member.js";
import { createNetwork } from "../../../../src/train/fit/network.js";
import type { TrainingData } from "../../../../src/train/fit/network-layout.js";
import { createKernel } from "../../../../src/train/numeric/kernel.js";
import { createRandom } from "../../../../src/train/numeric/random.js";
import { largestDifference } from "../../../support/fixtures.js";
import { fitReference, flatten, linears } from "../../../support/train/fit-reference.js";
import { assertClose } from "../../../support/train/reference.js";

const { network: wanted } = fitReference();
const data: TrainingData = {
  rows: 10,
  columns: 3,
  outputs: 2,
  features: Float32Array.from(wanted.features),
  target: Float32Array.from(wanted.target),
  weight: Float32Array.from(wanted.weight),
};
const order = Uint32Array.from(wanted.order);
const { sizes, batchSize } = wanted;
const all = Uint32Array.from({ length: 10 }, (_, row) => row);
const random = createRandom(1);

function startedNetwork(dropout = [0, 0]) {
  const network = createNetwork({ sizes, dropout, batchSize });
  network.load(linears(wanted.start));
  return network;
}

test("loss and gradient of a masked, weighted minibatch as numpy's", () => {
  const network = startedNetwork();
  const [first] = wanted.steps;
  assertClose(network.backward(data, order.subarray(0, batchSize), random), first!.loss, 1e-6);
  assert.ok(largestDifference(flatten(network.gradientLayers()), flatten(first!.gradient)) < 1e-6);
});

test("one step of Adam with weight decay as torch's formulas", () => {
  const network = startedNetwork();
  const step = createAdam(network, wanted);
  network.backward(data, order.subarray(0, batchSize), random);
  step();
  assert.ok(largestDifference(flatten(network.layers()), flatten(wanted.steps[0]!.after)) < 2e-7);
});

test("one epoch without dropout as torch's formulas, the last batch a smaller one", () => {
  const network = startedNetwork();
  const step = createAdam(network, wanted);
  const loss = trainEpoch(network, step, { data, order, batchSize, random });
  assert.ok(largestDifference(flatten(network.layers()), flatten(wanted.steps[2]!.after)) < 1e-6);
  const [a, b, c] = wanted.steps.map((part) => part.loss);
  assertClose(loss, a! * 0.4 + b! * 0.4 + c! * 0.2, 1e-6);
});

test("the gradient is the loss's slope, parameter by parameter", () => {
  const network = startedNetwork();
  network.backward(data, order.subarray(0, batchSize), random);
  const gradient = flatten(network.gradientLayers());
  const batch = order.subarray(0, batchSize);
  const start = linears(wanted.start);
  const width = 1e-3;
  let place = 0;
  for (const layer of start) {
    for (const values of [layer.weight, layer.bias]) {
      for (let index = 0; index < values.length; index++) {
        const value = values[index]!;
        const losses = [value + width, value - width].map((moved) => {
          values[index] = moved;
          network.load(start);
          return network.loss(data, batch);
        });
        values[index] = value;
        assertClose(gradient[place++], (losses[0]! - losses[1]!) / (2 * width), 3e-4);
      }
    }
  }
});

test("its forward is the serving head's: the loss from memberLogits is the network's", () => {
  const network = startedNetwork([0.3, 0.2]);
  let [sum, total] = [0, 0];
  for (const row of all) {
    const features = Float64Array.from(data.features.subarray(row * 3, row * 3 + 3));
    memberLogits({ kind: "shared", layers: network.layers() }, features).forEach((logit, output) => {
      const place = row * 2 + output;
      sum += data.weight[place]! * (Math.log1p(Math.exp(logit)) - data.target[place]! * logit);
      total += data.weight[place]!;
    });
  }
  assertClose(network.loss(data, all), sum / total, 1e-6);
});

test("a masked label changes neither loss nor gradient", () => {
  const target = data.target.map((value, place) => (data.weight[place] === 0 ? 1 - value : value));
  assert.notDeepEqual(target, data.target);
  const results = [data, { ...data, target }].map((given) => {
    const network = startedNetwork();
    return { loss: network.backward(given, all.subarray(0, 4), random), gradient: network.gradientLayers() };
  });
  assert.deepEqual(results[0], results[1]);
});

test("rows without any label give loss 0 and no gradient", () => {
  const network = startedNetwork();
  const unlabelled = { ...data, weight: new Float32Array(20) };
  assert.equal(network.backward(unlabelled, all.subarray(0, 4), random), 0);
  assert.ok(flatten(network.gradientLayers()).every((slope) => slope === 0));
});

test("the start is uniform in ±1/√inputs, and padding stays zero through training", () => {
  const network = createNetwork({ sizes, dropout: [0.5, 0.5], batchSize });
  network.initialise(createRandom(3));
  for (const { inputSize, weight, bias } of network.layers()) {
    const bound = 1 / Math.sqrt(inputSize);
    const values = [...weight, ...bias];
    assert.ok(values.every((value) => Math.abs(value) <= bound && value !== 0));
    assert.ok(Math.max(...values.map(Math.abs)) > bound / 2);
  }
  const step = createAdam(network, wanted);
  for (let epoch = 0; epoch < 5; epoch++) trainEpoch(network, step, { data, order, batchSize, random });
  const used = sizes.slice(1).reduce((sum, outputs, layer) => sum + outputs * (sizes[layer]! + 1), 0);
  assert.equal(network.parameters.filter((value) => value !== 0).length, used);
});

test("dropout cuts its share of the activations and scales the rest", () => {
  const kernel = createKernel([8000, 8, 8000], 8);
  const [values, bias, chance] = kernel.arrays;
  const draws = createRandom(5);
  values!.forEach((_, index) => {
    values![index] = index % 2 === 0 ? 2 : -2;
    chance![index] = draws.uniform();
  });
  bias!.fill(1);
  kernel.activate({ values: values!, bias: bias!, chance: chance!, share: 0.25, scale: 4 / 3 });
  assert.deepEqual(new Set(values), new Set([0, 4]));
  assertClose(values!.filter((value) => value > 0).length / 4000, 0.75, 0.03);
});

for (const [rows, columns, depth] of [
  [4, 8, 1],
  [12, 24, 5],
  [8, 16, 40],
] as const) {
  test(`matrix product ${rows} × ${depth} · ${depth} × ${columns}, left also transposed`, () => {
    const kernel = createKernel([rows * depth, depth * columns, rows * columns, rows * depth], depth);
    const [left, right, result, turned] = kernel.arrays;
    const draws = createRandom(9);
    left!.forEach((_, index) => {
      left![index] = draws.normal();
      turned![(index % depth) * rows + Math.floor(index / depth)] = left![index]!;
    });
    right!.forEach((_, index) => {
      right![index] = draws.normal();
    });
    const size = { rows, columns, depth, right: right!, result: result! };
    kernel.multiply({ ...size, left: left!, leftRow: depth, leftColumn: 1 });
    const straight = result!.slice();
    const product = straight.map((_, place) => {
      const [row, column] = [Math.floor(place / columns), place % columns];
      let sum = 0;
      for (let k = 0; k < depth; k++) sum += left![row * depth + k]! * right![k * columns + column]!;
      return sum;
    });
    assert.ok(largestDifference(straight, product) < 1e-5);
    kernel.multiply({ ...size, left: turned!, leftRow: 1, leftColumn: rows });
    assert.deepEqual(result, straight);
  });
}
