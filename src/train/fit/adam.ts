// Adam as torch.optim.Adam: decay of weights is an L2 penalty, added to the gradient before the moments.
import type { Network } from "./network.js";

export interface AdamOptions {
  readonly learningRate: number;
  readonly weightDecay: number;
}

export const adamDefaults: AdamOptions = { learningRate: 1e-3, weightDecay: 1e-4 };

const [beta1, beta2, epsilon] = [0.9, 0.999, 1e-8] as const;

/**
 * m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², θ ← θ − lr · m̂ / (√v̂ + ε), with g the gradient + weightDecay ·
 * θ.
 * @returns takes one step along the gradient that the network holds
 */
export function createAdam(network: Network, { learningRate, weightDecay }: AdamOptions): () => void {
  const { kernel, parameters, gradient } = network;
  const [firstMoment, secondMoment] = network.moments;
  firstMoment.fill(0);
  secondMoment.fill(0);
  let steps = 0;
  return () => {
    steps++;
    kernel.adam({
      parameters,
      gradient,
      firstMoment,
      secondMoment,
      weightDecay,
      beta1,
      beta2,
      stepSize: learningRate / (1 - beta1 ** steps),
      secondCorrection: Math.sqrt(1 - beta2 ** steps),
      epsilon,
    });
  };
}
