// The pooled vectors of one text, one for each layer and pooling mode that was asked for.
import type { PoolingMode } from "./pooling.js";

export type PooledKey = `${number}.${PoolingMode}`;

/** Hidden-state index and pooling mode → [hiddenSize]. */
export type PooledVectors = ReadonlyMap<PooledKey, Float32Array>;

export function pooledKey(layer: number, mode: PoolingMode): PooledKey {
  return `${layer}.${mode}`;
}
