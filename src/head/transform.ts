// Pooled hidden states → features: concatenation, StandardScaler, PCA. Sums in float64.
import type { PooledVectors } from "../features/pooled.js";
import { pooledKey } from "../features/pooled.js";
import type { FeatureBlock } from "./weights.js";

/**
 * z = (x − scalerMean) / scalerScale, f = components · (z − pcaMean), as scikit-learn's StandardScaler and PCA.
 *
 * @param pooled the vectors of at least the block's layers in the block's pooling mode, [hiddenSize] each
 * @returns [pcaSize]
 */
export function transformBlock(block: FeatureBlock, pooled: PooledVectors): Float64Array {
  const rawSize = block.layers.length * block.hiddenSize;
  const centred = new Float64Array(rawSize);
  let position = 0;
  for (const layer of block.layers) {
    const vector = pooled.get(pooledKey(layer, block.pooling));
    if (vector?.length !== block.hiddenSize) {
      throw new RangeError(
        `hidden state ${layer} (${block.pooling}) is missing or not of size ${block.hiddenSize}`,
      );
    }
    for (const value of vector) {
      const scaled = (value - block.scalerMean[position]!) / block.scalerScale[position]!;
      centred[position] = scaled - block.pcaMean[position]!;
      position++;
    }
  }
  const features = new Float64Array(block.pcaSize);
  for (let component = 0; component < block.pcaSize; component++) {
    const offset = component * rawSize;
    let sum = 0;
    for (let index = 0; index < rawSize; index++)
      sum += block.pcaComponents[offset + index]! * centred[index]!;
    features[component] = sum;
  }
  return features;
}
