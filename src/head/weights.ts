// The one shape of a head: all between pooled hidden states and probabilities. The readers in checkpoint/
// build it and check its dimensions; transform.ts, mlp.ts and head.ts compute with it.
import type { PoolingMode } from "../features/pooling.js";

/** A dense layer y = W·x + b. */
export interface Linear {
  readonly inputSize: number;
  readonly outputSize: number;
  /** [outputSize, inputSize], row-major */
  readonly weight: Float32Array;
  /** [outputSize] */
  readonly bias: Float32Array;
}

/**
 * How the pooled vectors of several layers become one: side by side, or (Switchyard 0.3.0) as their mean,
 * after each layer was standardised by its own mean and deviation.
 */
export const combinationKinds = ["concat", "standardised_mean"] as const satisfies Combination["kind"][];
export type Combination =
  | { readonly kind: "concat" }
  | {
      readonly kind: "standardised_mean";
      /** [layers × hiddenSize] each, in the order of the block's layers */
      readonly layerMean: Float32Array;
      readonly layerScale: Float32Array;
    };

/** A StandardScaler and a PCA on the pooled vectors of some layers. */
export interface FeatureBlock {
  /** hidden-state indices as Transformers counts them: 0 = embeddings, k = output of block k */
  readonly layers: readonly number[];
  readonly pooling: PoolingMode;
  readonly hiddenSize: number;
  readonly combination: Combination;
  /** these three are [rawSize]: layers × hiddenSize for `concat`, hiddenSize for `standardised_mean` */
  readonly scalerMean: Float32Array;
  readonly scalerScale: Float32Array;
  readonly pcaMean: Float32Array;
  readonly pcaSize: number;
  /** [pcaSize, rawSize], row-major */
  readonly pcaComponents: Float32Array;
}

/** One ensemble member. */
export type Member =
  /** dense layers with ReLU between them; the last one gives the outputs of the head */
  | { readonly kind: "shared"; readonly layers: readonly Linear[] }
  /** Switchyard 0.3.0: for output o, heads[o](relu(trunk(relu(adapters[o](features))))) */
  | {
      readonly kind: "per_output";
      readonly adapters: readonly Linear[];
      readonly trunk: Linear;
      /** each has one row */
      readonly heads: readonly Linear[];
    };

/** Platt calibration of one output: p = sigmoid(slope × logit(raw) + intercept). */
export interface Calibration {
  readonly slope: number;
  readonly intercept: number;
}

export interface HeadWeights {
  readonly outputNames: readonly string[];
  /** their outputs, side by side, are the input of every member */
  readonly blocks: readonly FeatureBlock[];
  readonly members: readonly Member[];
  /** by output; null: the raw probability is the answer */
  readonly calibration: readonly (Calibration | null)[];
}

/** The matrix of any layer. */
export interface Matrix {
  /** [rows, columns], row-major */
  readonly values: Float32Array;
  readonly rows: number;
  readonly columns: number;
}

/** Every matrix that a vector is multiplied by. */
export function matricesOf({ blocks, members }: HeadWeights): Matrix[] {
  const layers = members.flatMap((member) =>
    member.kind === "shared" ? member.layers : [...member.adapters, member.trunk, ...member.heads],
  );
  return [
    ...blocks.map((block) => ({
      values: block.pcaComponents,
      rows: block.pcaSize,
      columns: rawSizeOf(block),
    })),
    ...layers.map(({ weight, outputSize, inputSize }) => ({
      values: weight,
      rows: outputSize,
      columns: inputSize,
    })),
  ];
}

/** The number of values that go into a block's scaler. */
export function rawSizeOf({
  layers,
  hiddenSize,
  combination,
}: Pick<FeatureBlock, "layers" | "hiddenSize" | "combination">): number {
  return combination.kind === "concat" ? layers.length * hiddenSize : hiddenSize;
}
