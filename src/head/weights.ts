// The one shape of a head: everything between pooled hidden states and probabilities. Readers in checkpoint/
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

/** StandardScaler followed by PCA, on the concatenated pooled vectors of some layers. */
export interface FeatureBlock {
  /** hidden-state indices in Transformers' numbering: 0 = embeddings, k = output of block k */
  readonly layers: readonly number[];
  readonly pooling: PoolingMode;
  readonly hiddenSize: number;
  /** [layers × hiddenSize] each */
  readonly scalerMean: Float32Array;
  readonly scalerScale: Float32Array;
  readonly pcaMean: Float32Array;
  readonly pcaSize: number;
  /** [pcaSize, layers × hiddenSize], row-major */
  readonly pcaComponents: Float32Array;
}

/** One ensemble member: dense layers with ReLU between them, none after the last. */
export interface Member {
  readonly layers: readonly Linear[];
}

export interface HeadWeights {
  readonly outputNames: readonly string[];
  /** the members' input is the blocks' outputs side by side */
  readonly blocks: readonly FeatureBlock[];
  readonly members: readonly Member[];
}
