// The pooled vectors of one text, one for each layer and pooling mode that was asked for.
import type { PoolingMode } from "./pooling.js";

/** What is asked for. */
export interface WantedFeatures {
  /** hidden-state indices: 0 = embeddings, k = output of block k */
  readonly layers: readonly number[];
  readonly pooling: readonly PoolingMode[];
}

export type PooledKey = `${number}.${PoolingMode}`;

/** Hidden-state index and pooling mode → [hiddenSize]. */
export type PooledVectors = ReadonlyMap<PooledKey, Float32Array>;

export function pooledKey(layer: number, mode: PoolingMode): PooledKey {
  return `${layer}.${mode}`;
}

/** What is wrong with a vector that no sound model gives; null for one that may be right. */
export function faultOf(vector: Float32Array): "not finite" | "one value throughout" | null {
  if (!vector.every(Number.isFinite)) return "not finite";
  return vector.length > 1 && vector.every((value) => value === vector[0]) ? "one value throughout" : null;
}
