// Pooled hidden states → features: concatenation, StandardScaler, PCA. Sums in float64.
import type { PooledVectors } from "../features/pooled.js";
import { pooledKey } from "../features/pooled.js";
import { dot } from "./dot.js";
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
    features[component] = dot(block.pcaComponents, component * rawSize, centred);
  }
  return features;
}
