// The pooled vectors of one text, one for each layer and pooling mode that was asked for.
import type { PoolingMode } from "./pooling.js";

export type PooledKey = `${number}.${PoolingMode}`;

/** Hidden-state index and pooling mode → [hiddenSize]. */
export type PooledVectors = ReadonlyMap<PooledKey, Float32Array>;

/**
 * What no model gives and a broken one does; null for a vector that may be right. Of one value throughout, a head would make
 * the same probability for every text.
 */
export function faultOf(vector: Float32Array): "not finite" | "one value throughout" | null {
  if (!vector.every(Number.isFinite)) return "not finite";
  return vector.length > 1 && vector.every((value) => value === vector[0]) ? "one value throughout" : null;
}

export function pooledKey(layer: number, mode: PoolingMode): PooledKey {
  return `${layer}.${mode}`;
}
