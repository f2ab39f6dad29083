// Pooled hidden states → features: combination of layers, StandardScaler, PCA. The sums are float64.
import { type PooledVectors, pooledKey } from "../features/pooled.js";
import { type Multiply, multiply as usualMultiply } from "./multiply.js";
import { type FeatureBlock, rawSizeOf } from "./weights.js";

/**
 * z = (x − scalerMean) / scalerScale, f = components · (z − pcaMean), as scikit-learn computes them.
 * @param pooled the vectors of the block's layers in its pooling mode, [hiddenSize] each; more do no harm
 * @returns [pcaSize]
 * @throws RangeError when a vector is missing or has another size
 */
export function transformBlock(
  block: FeatureBlock,
  pooled: PooledVectors,
  multiply: Multiply = usualMultiply,
): Float64Array {
  const centred = combine(block, pooled);
  for (let index = 0; index < centred.length; index++) {
    const scaled = (centred[index]! - block.scalerMean[index]!) / block.scalerScale[index]!;
    centred[index] = scaled - block.pcaMean[index]!;
  }
  return multiply(block.pcaComponents, block.pcaSize, centred);
}

/** The vectors of the layers as one: [rawSize]. */
function combine(block: FeatureBlock, pooled: PooledVectors): Float64Array {
  const { combination, hiddenSize, layers } = block;
  const combined = new Float64Array(rawSizeOf(block));
  layers.forEach((layer, position) => {
    const vector = pooled.get(pooledKey(layer, block.pooling));
    if (vector?.length !== hiddenSize) {
      throw new RangeError(
        `hidden state ${layer} (${block.pooling}) is missing or not of size ${hiddenSize}`,
      );
    }
    const offset = position * hiddenSize;
    if (combination.kind === "concat") {
      combined.set(vector, offset);
      return;
    }
    for (let index = 0; index < hiddenSize; index++) {
      const centred = vector[index]! - combination.layerMean[offset + index]!;
      combined[index]! += centred / combination.layerScale[offset + index]! / layers.length;
    }
  });
  return combined;
}
