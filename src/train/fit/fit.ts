// Pooled features and labels → a head: scaler, PCA, the best members of several seeds. Uncalibrated.
import type { FeatureBlock, HeadWeights } from "../../head/weights.js";
import type { LabelRow } from "../../labels/label-row.js";
import { labelWeight } from "../../labels/label-row.js";
import { createRandom } from "../numeric/random.js";
import { blockFeatures, type TableView } from "../predict.js";
import {
  type MemberRecipe,
  type MemberTask,
  memberRecipe,
  type TrainedMember,
  trainMember,
} from "./member.js";
import type { TrainingData } from "./network-layout.js";
import { fitPca, type Pca } from "./pca.js";
import { fitScaler, type Table } from "./scaler.js";

export interface FitInput {
  readonly view: TableView;
  /** [rows, layers × hiddenSize] */
  readonly table: Table;
  readonly outputNames: readonly string[];
  /** [rows]; a null label is masked */
  readonly labels: readonly Pick<LabelRow, "labels" | "samples" | "weight">[];
}

/** Trains the seeds of a task, in any order; fit-workers.ts runs them side by side. */
export type TrainSeeds = (
  task: MemberTask,
  seeds: readonly number[],
  onMember?: OnMember,
) => Promise<TrainedMember[]>;

/** Told of each member, in the order in which they end. */
export type OnMember = (member: TrainedMember) => void;

export interface FitOptions {
  readonly pcaSize: number;
  /** default: llm-router's */
  readonly recipe?: MemberRecipe;
  /** default 42…51 */
  readonly seeds?: readonly number[];
  /** members kept, the best by validation loss; default 5 */
  readonly keep?: number;
  /** default: one after the other, here */
  readonly trainSeeds?: TrainSeeds;
  readonly onMember?: OnMember | undefined;
}

export interface FitFacts {
  readonly rows: number;
  readonly validationRows: number;
  readonly explainedVarianceRatio: Float64Array;
  /** of every seed, best first; the first `keep` are in the head */
  readonly members: readonly (Omit<TrainedMember, "layers"> & { readonly kept: boolean })[];
}

const defaultSeeds: readonly number[] = Array.from({ length: 10 }, (_, index) => 42 + index);

/** Share of the rows that stop training, and the seed that chooses them; both alike for all members. */
const validation = { share: 0.15, seed: 42 };

/** @throws RangeError when table, labels and pcaSize do not fit, or a feature is not finite */
export async function fitHead(
  input: FitInput,
  options: FitOptions,
): Promise<{ weights: HeadWeights; facts: FitFacts }> {
  checkShapes(input);
  const { block, pca } = fitBlock(input, options.pcaSize);
  const { seeds = defaultSeeds, keep = 5, trainSeeds = trainInTurn } = options;
  const task = memberTask(input, block, options);
  const members = await trainSeeds(task, seeds, options.onMember);
  const ranked = members.toSorted((a, b) => a.validationLoss - b.validationLoss || a.seed - b.seed);
  return {
    weights: {
      outputNames: input.outputNames,
      blocks: [block],
      members: ranked.slice(0, keep).map(({ layers }) => ({ kind: "shared", layers })),
      calibration: input.outputNames.map(() => null),
    },
    facts: {
      rows: input.table.rows,
      validationRows: task.validationRows.length,
      explainedVarianceRatio: pca.explainedVarianceRatio,
      members: ranked.map(({ layers: _, ...facts }, place) => ({ ...facts, kept: place < keep })),
    },
  };
}

/** One seed after the other on this thread. */
const trainInTurn: TrainSeeds = async (task, seeds, onMember) => {
  return seeds.map((seed) => {
    const member = trainMember(task, seed);
    onMember?.(member);
    return member;
  });
};

/** Scaler and PCA of the table, rounded to float32 as a checkpoint keeps them. */
export function fitBlock(
  { view, table }: Pick<FitInput, "view" | "table">,
  pcaSize: number,
): { block: FeatureBlock; pca: Pca } {
  const scaler = fitScaler(table);
  const scalerMean = Float32Array.from(scaler.mean);
  const scalerScale = Float32Array.from(scaler.scale);
  // of what serving will compute: with the rounded scaler
  const pca = fitPca(table, { mean: scalerMean, scale: scalerScale }, pcaSize);
  const block: FeatureBlock = {
    layers: view.layers,
    pooling: view.pooling,
    hiddenSize: view.hiddenSize,
    combination: { kind: "concat" },
    scalerMean,
    scalerScale,
    pcaMean: Float32Array.from(pca.mean),
    pcaSize,
    pcaComponents: Float32Array.from(pca.components),
  };
  return { block, pca };
}

function memberTask(input: FitInput, block: FeatureBlock, options: FitOptions): MemberTask {
  const { recipe = memberRecipe } = options;
  const { rows } = input.table;
  const order = Uint32Array.from({ length: rows }, (_, row) => row);
  createRandom(validation.seed).shuffle(order);
  const count = Math.round(rows * validation.share);
  return {
    data: trainingData(input, blockFeatures(block, input.table)),
    trainRows: order.slice(count),
    validationRows: order.slice(0, count),
    recipe,
  };
}

/** @param features [rows, columns] */
export function trainingData(
  { labels, outputNames }: Pick<FitInput, "labels" | "outputNames">,
  features: Float32Array,
): TrainingData {
  const [rows, outputs] = [labels.length, outputNames.length];
  const target = new Float32Array(rows * outputs);
  const weight = new Float32Array(rows * outputs);
  labels.forEach((row, index) => {
    row.labels.forEach((solved, output) => {
      if (solved === null) return;
      target[index * outputs + output] = solved;
      weight[index * outputs + output] = labelWeight(row, output);
    });
  });
  return { rows, columns: features.length / rows, outputs, features, target, weight };
}

function checkShapes({ view, table, outputNames, labels }: FitInput): void {
  const columns = view.layers.length * view.hiddenSize;
  if (table.columns !== columns || table.data.length !== table.rows * columns) {
    throw new RangeError(`the table is not of ${table.rows} rows of ${columns} values`);
  }
  if (labels.length !== table.rows) throw new RangeError(`${labels.length} labels for ${table.rows} rows`);
  if (labels.some((row) => row.labels.length !== outputNames.length)) {
    throw new RangeError(`a row has not ${outputNames.length} labels`);
  }
  if (!table.data.every(Number.isFinite)) throw new RangeError("a feature is not a finite number");
}
