// Trains one ensemble member: minibatches, early stopping on the validation rows, the best weights kept.
import type { Linear } from "../../head/weights.js";
import { createRandom, type Random } from "../numeric/random.js";
import { type AdamOptions, adamDefaults, createAdam } from "./adam.js";
import { createNetwork, type Network } from "./network.js";
import type { TrainingData } from "./network-layout.js";

export interface MemberRecipe extends AdamOptions {
  readonly hidden: readonly number[];
  /** by hidden layer */
  readonly dropout: readonly number[];
  readonly batchSize: number;
  readonly maxEpochs: number;
  /** epochs without an improvement before it stops */
  readonly patience: number;
  /** a smaller gain in validation loss is none */
  readonly improvement: number;
}

/** The recipe of NVIDIA's llm-router v3. */
export const memberRecipe: MemberRecipe = {
  ...adamDefaults,
  hidden: [256, 128],
  dropout: [0.3, 0.2],
  batchSize: 512,
  maxEpochs: 150,
  patience: 15,
  improvement: 1e-4,
};

/** All that a worker needs for any seed. */
export interface MemberTask {
  readonly data: TrainingData;
  readonly trainRows: Uint32Array;
  /** empty: every epoch runs and the last weights stay */
  readonly validationRows: Uint32Array;
  readonly recipe: MemberRecipe;
}

export interface TrainedMember {
  readonly seed: number;
  /** of the weights kept; the training loss where there are no validation rows */
  readonly validationLoss: number;
  /** epochs until the weights kept, and in all */
  readonly bestEpoch: number;
  readonly epochs: number;
  readonly layers: readonly Linear[];
}

/** Deterministic: the same task and seed give the same bytes on every machine. */
export function trainMember(task: MemberTask, seed: number): TrainedMember {
  const { data, recipe, trainRows, validationRows } = task;
  const sizes = [data.columns, ...recipe.hidden, data.outputs];
  const network = createNetwork({ sizes, dropout: recipe.dropout, batchSize: recipe.batchSize });
  const random = createRandom(seed);
  network.initialise(random);
  const step = createAdam(network, recipe);
  const order = trainRows.slice();
  let best: TrainedMember | null = null;
  let epoch = 0;
  while (epoch < recipe.maxEpochs && (best === null || epoch - best.bestEpoch < recipe.patience)) {
    epoch++;
    random.shuffle(order);
    const trainingLoss = trainEpoch(network, step, { data, order, batchSize: recipe.batchSize, random });
    const stops = validationRows.length > 0;
    const validationLoss = stops ? network.loss(data, validationRows) : trainingLoss;
    if (!stops || best === null || validationLoss < best.validationLoss - recipe.improvement) {
      best = { seed, validationLoss, bestEpoch: epoch, epochs: epoch, layers: network.layers() };
    }
  }
  if (best === null) throw new RangeError("training needs at least one epoch");
  return { ...best, epochs: epoch };
}

/** One pass over the rows in the given order; the mean of the batches' losses. */
export function trainEpoch(
  network: Network,
  step: () => void,
  pass: {
    readonly data: TrainingData;
    readonly order: Uint32Array;
    readonly batchSize: number;
    readonly random: Random;
  },
): number {
  const { data, order, batchSize, random } = pass;
  let loss = 0;
  for (let start = 0; start < order.length; start += batchSize) {
    const batch = order.subarray(start, start + batchSize);
    loss += (network.backward(data, batch, random) * batch.length) / order.length;
    step();
  }
  return loss;
}
