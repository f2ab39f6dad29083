// The whole head: pooled hidden states → one probability per output. It is defined only here.
import type { PooledVectors } from "../features/pooled.js";
import type { PoolingMode } from "../features/pooling.js";
import { memberLogits } from "./mlp.js";
import { type Multiply, multiply as usualMultiply } from "./multiply.js";
import { transformBlock } from "./transform.js";
import type { HeadWeights } from "./weights.js";

/** The logistic function, without overflow for large |logit|. */
export function sigmoid(logit: number): number {
  if (logit >= 0) return 1 / (1 + Math.exp(-logit));
  const exponential = Math.exp(logit);
  return exponential / (1 + exponential);
}

/**
 * Feature blocks → ensemble members → sigmoid → mean over the members.
 * @param pooled the vectors of the layers and pooling modes that `requiredFeatures` names; more do no harm
 * @param multiply for many texts, the one that createSimdMultiply makes for these weights
 * @returns [outputs], each in [0, 1], in the order of `weights.outputNames`, before calibration
 */
export function probabilities(
  weights: HeadWeights,
  pooled: PooledVectors,
  multiply: Multiply = usualMultiply,
): Float64Array {
  const features = concatenate(weights.blocks.map((block) => transformBlock(block, pooled, multiply)));
  const mean = new Float64Array(weights.outputNames.length);
  for (const member of weights.members) {
    const logits = memberLogits(member, features, multiply);
    for (let output = 0; output < mean.length; output++) mean[output]! += sigmoid(logits[output]!);
  }
  for (let output = 0; output < mean.length; output++) mean[output]! /= weights.members.length;
  return mean;
}

/** The raw probabilities after each output's Platt calibration; [outputs]. */
export function calibrate({ calibration }: HeadWeights, raw: Float64Array): Float64Array {
  return raw.map((probability, output) => {
    const platt = calibration[output];
    if (!platt) return probability;
    // the logit of 0 or 1 is infinite, which sigmoid turns into 0 or 1 again
    return sigmoid(platt.slope * Math.log(probability / (1 - probability)) + platt.intercept);
  });
}

/** The layers and pooling modes that this head needs from an encoder, each once and sorted. */
export function requiredFeatures(weights: HeadWeights): { layers: number[]; pooling: PoolingMode[] } {
  const layers = new Set(weights.blocks.flatMap((block) => block.layers));
  const pooling = new Set(weights.blocks.map((block) => block.pooling));
  return { layers: [...layers].sort((a, b) => a - b), pooling: [...pooling].sort() };
}

function concatenate(parts: readonly Float64Array[]): Float64Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Float64Array(parts.reduce((size, part) => size + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
