// The passes through a network in training: rows in, forward, loss, back.
import { sigmoid } from "../../head/head.js";
import { createKernel, type Kernel, rowBlock } from "../numeric/kernel.js";
import type { Random } from "../numeric/random.js";
import type { Layout, NetworkShape, TrainingData } from "./network-layout.js";

/** The network and its working memory, all in the kernel's. */
export interface State {
  readonly layout: Layout;
  readonly dropout: readonly number[];
  readonly kernel: Kernel;
  readonly parameters: Float32Array;
  readonly gradient: Float32Array;
  readonly moments: readonly [Float32Array, Float32Array];
  /** [outputs, inputs] of the layer at hand */
  readonly transposed: Float32Array;
  /** a number in [0, 1) for each activation of the layer at hand */
  readonly chance: Float32Array;
  /** by layer, inputs first: [batch, padded width]; the last holds logits, then their delta */
  readonly activations: readonly Float32Array[];
  /** by layer: the loss's slope there; unused for the inputs */
  readonly deltas: readonly Float32Array[];
}

export function createState({ dropout, batchSize }: NetworkShape, layout: Layout): State {
  const rows = padRows(batchSize);
  const batch = layout.widths.map((width) => rows * width);
  const largest = Math.max(...layout.layers.map(({ inputs, outputs }) => inputs * outputs));
  const flat = [layout.size, layout.size, layout.size, layout.size, largest, Math.max(...batch)];
  const sizes = [...flat, ...batch, ...batch.slice(1, -1)];
  const kernel = createKernel(sizes, Math.max(rows, ...layout.widths));
  const [parameters, gradient, first, second, transposed, chance, ...rest] = kernel.arrays;
  const activations = rest.slice(0, batch.length);
  return {
    layout,
    dropout,
    kernel,
    parameters: parameters!,
    gradient: gradient!,
    moments: [first!, second!],
    transposed: transposed!,
    chance: chance!,
    activations,
    deltas: [activations[0]!, ...rest.slice(batch.length), activations.at(-1)!],
  };
}

function padRows(rows: number): number {
  return Math.ceil(rows / rowBlock) * rowBlock;
}

/** Copies the rows' features in and returns how many rows the products take. */
export function gather(
  { activations, layout }: State,
  { features, columns }: TrainingData,
  rows: Uint32Array,
): number {
  const [input, width, padded] = [activations[0]!, layout.widths[0]!, padRows(rows.length)];
  for (let row = 0; row < rows.length; row++) {
    const start = rows[row]! * columns;
    for (let column = 0; column < columns; column++) {
      input[row * width + column] = features[start + column]!;
    }
  }
  input.fill(0, rows.length * width, padded * width);
  return padded;
}

/** Leaves the logits in the last activations; random: null without dropout. */
export function forward(state: State, rows: number, random: Random | null): void {
  const { layout, kernel, parameters, activations, chance, dropout } = state;
  layout.layers.forEach(({ weight, bias, inputs, outputs }, index) => {
    const result = activations[index + 1]!;
    const left = activations[index]!;
    const right = parameters.subarray(weight, bias);
    kernel.multiply({
      rows,
      columns: outputs,
      depth: inputs,
      left,
      leftRow: inputs,
      leftColumn: 1,
      right,
      result,
    });
    const values = result.subarray(0, rows * outputs);
    const biases = parameters.subarray(bias, bias + outputs);
    if (index === layout.layers.length - 1) {
      addBias(values, biases);
      return;
    }
    const share = random === null ? 0 : dropout[index]!;
    if (random !== null && share > 0) draw(chance, values.length, random);
    // inverted dropout: what stays grows
    kernel.activate({ values, bias: biases, chance, share, scale: 1 / (1 - share) });
  });
}

function addBias(values: Float32Array, bias: Float32Array): void {
  for (let index = 0; index < values.length; index += bias.length) {
    for (let column = 0; column < bias.length; column++) values[index + column]! += bias[column]!;
  }
}

/** Two chances of 16 bits from each draw: a share of 0.3 becomes 19,661 / 65,536. */
function draw(chance: Float32Array, count: number, random: Random): void {
  for (let index = 0; index < count; index += 2) {
    const bits = random.below(2 ** 32);
    chance[index] = (bits >>> 16) / 65_536;
    chance[index + 1] = (bits & 0xffff) / 65_536;
  }
}

/** Replaces the logits by weight · (p − target) and returns the sums of weighted loss and weight. */
export function outputDelta(
  { activations, layout }: State,
  { target, weight, outputs }: TrainingData,
  rows: Uint32Array,
): { loss: number; weight: number } {
  const [values, width] = [activations.at(-1)!, layout.widths.at(-1)!];
  const sums = { loss: 0, weight: 0 };
  for (let row = 0; row < rows.length; row++) {
    for (let output = 0; output < outputs; output++) {
      const place = row * width + output;
      const label = rows[row]! * outputs + output;
      const share = weight[label]!;
      const logit = values[place]!;
      const wanted = target[label]!;
      // ln(1 + e^logit) − wanted · logit, without overflow
      const softplus = Math.max(logit, 0) + Math.log1p(Math.exp(-Math.abs(logit)));
      // a masked cell counts nothing, whatever stands there
      values[place] = share > 0 ? share * (sigmoid(logit) - wanted) : 0;
      if (share > 0) sums.loss += share * (softplus - wanted * logit);
      sums.weight += share;
    }
    values.fill(0, row * width + outputs, (row + 1) * width);
  }
  values.fill(0, rows.length * width, padRows(rows.length) * width);
  return sums;
}

/** Turns the last delta into the gradient of loss ÷ weightSum. */
export function propagateBack(state: State, rows: number, weightSum: number): void {
  const { layout, kernel, parameters, gradient, transposed, activations, deltas, dropout } = state;
  const last = deltas.at(-1)!;
  const meanOf = weightSum > 0 ? 1 / weightSum : 0;
  for (let index = 0; index < rows * layout.widths.at(-1)!; index++) last[index]! *= meanOf;
  for (let layer = layout.layers.length - 1; layer >= 0; layer--) {
    const { weight, bias, inputs, outputs } = layout.layers[layer]!;
    const [input, delta] = [activations[layer]!, deltas[layer + 1]!];
    const weightSlope = gradient.subarray(weight, bias);
    const size = { rows: inputs, columns: outputs, depth: rows };
    kernel.multiply({
      ...size,
      left: input,
      leftRow: 1,
      leftColumn: inputs,
      right: delta,
      result: weightSlope,
    });
    sumColumns(delta.subarray(0, rows * outputs), gradient.subarray(bias, bias + outputs));
    if (layer === 0) return;
    transpose(parameters.subarray(weight, bias), outputs, transposed);
    const below = deltas[layer]!;
    const back = { rows, columns: inputs, depth: outputs, left: delta, leftRow: outputs, leftColumn: 1 };
    kernel.multiply({ ...back, right: transposed, result: below });
    // an activation above 0 was neither cut by the ReLU nor dropped
    const scale = 1 / (1 - dropout[layer - 1]!);
    kernel.reluSlope(below.subarray(0, rows * inputs), input, scale);
  }
}

function sumColumns(values: Float32Array, sums: Float32Array): void {
  sums.fill(0);
  for (let index = 0; index < values.length; index += sums.length) {
    for (let column = 0; column < sums.length; column++) sums[column]! += values[index + column]!;
  }
}

function transpose(matrix: Float32Array, columns: number, result: Float32Array): void {
  const rows = matrix.length / columns;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      result[column * rows + row] = matrix[row * columns + column]!;
  }
}
