// Figures of scikit-learn and numpy for the tests of training. test/fixtures/train/fit-make.py writes them.
import type { Linear } from "../../../src/head/weights.js";
import type { FitInput } from "../../../src/train/fit/fit.js";
import type { MemberRecipe } from "../../../src/train/fit/member.js";
import { memberRecipe } from "../../../src/train/fit/member.js";
import type { Table } from "../../../src/train/fit/scaler.js";
import { createRandom } from "../../../src/train/numeric/random.js";
import { fixturePath, readJson } from "../fixtures.js";

interface FlatLayer {
  readonly weight: readonly number[];
  readonly bias: readonly number[];
}

export interface TableReference {
  readonly rows: number;
  readonly columns: number;
  readonly data: readonly number[];
  readonly mean: readonly number[];
  readonly scale: readonly number[];
  readonly size: number;
  readonly components: readonly number[];
  readonly explainedVariance: readonly number[];
  readonly explainedVarianceRatio: readonly number[];
  readonly transformed: readonly number[];
}

interface FitReference {
  readonly tables: { readonly tall: TableReference; readonly wide: TableReference };
  readonly network: {
    readonly sizes: readonly number[];
    readonly features: readonly number[];
    readonly target: readonly number[];
    readonly weight: readonly number[];
    readonly order: readonly number[];
    readonly batchSize: number;
    readonly learningRate: number;
    readonly weightDecay: number;
    readonly start: readonly FlatLayer[];
    readonly steps: readonly {
      readonly loss: number;
      readonly gradient: readonly FlatLayer[];
      readonly after: readonly FlatLayer[];
    }[];
  };
  readonly platt: {
    readonly probability: readonly number[];
    readonly solved: readonly number[];
    readonly weight: readonly number[];
    readonly slope: number;
    readonly intercept: number;
  };
}

export function fitReference(): FitReference {
  return readJson<FitReference>(fixturePath("train/fit.json"));
}

export function tableOf({ rows, columns, data }: TableReference): Table {
  return { rows, columns, data: Float32Array.from(data) };
}

export function linears(layers: readonly FlatLayer[]): Linear[] {
  return layers.map(({ weight, bias }) => ({
    inputSize: weight.length / bias.length,
    outputSize: bias.length,
    weight: Float32Array.from(weight),
    bias: Float32Array.from(bias),
  }));
}

/** All weights and biases in one list. */
export function flatten(layers: readonly FlatLayer[] | readonly Linear[]): Float64Array {
  return Float64Array.from(layers.flatMap(({ weight, bias }) => [...weight, ...bias]));
}

export const smallRecipe: MemberRecipe = {
  ...memberRecipe,
  hidden: [12, 7],
  batchSize: 32,
  maxEpochs: 40,
  patience: 5,
  learningRate: 1e-2,
};

/** Two layers of 3 values. "sum" is solved if their sum is above 0, "first" if the first value is. */
export function toyInput(rows: number, seed = 1): FitInput {
  const random = createRandom(seed);
  const data = Float32Array.from({ length: rows * 6 }, () => random.normal());
  const labels = Array.from({ length: rows }, (_, row) => {
    const values = data.subarray(row * 6, row * 6 + 6);
    const solved = [values.reduce((sum, value) => sum + value, 0) > 0, values[0]! > 0];
    return { labels: solved.map(Number), samples: [1, 1], weight: 1 };
  });
  return {
    view: { layers: [1, 2], pooling: "mean", hiddenSize: 3 },
    table: { rows, columns: 6, data },
    outputNames: ["sum", "first"],
    labels,
  };
}
