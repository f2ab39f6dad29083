// The network of one member in training: forward with dropout, loss and gradient, in float32.
import type { Linear } from "../../head/weights.js";
import type { Kernel } from "../numeric/kernel.js";
import type { Random } from "../numeric/random.js";
import { createLayout, type NetworkShape, type TrainingData } from "./network-layout.js";
import { createState, forward, gather, outputDelta, propagateBack } from "./network-passes.js";

export interface Network {
  /** padded; what Adam changes */
  readonly parameters: Float32Array;
  /** of the mean loss, as the last `backward` left it */
  readonly gradient: Float32Array;
  /** zeroed and as long as `parameters`, for Adam */
  readonly moments: readonly [first: Float32Array, second: Float32Array];
  readonly kernel: Kernel;
  /** torch's default for nn.Linear: uniform in ±1/√(inputs), weight and bias */
  initialise(random: Random): void;
  load(layers: readonly Linear[]): void;
  layers(): Linear[];
  gradientLayers(): Linear[];
  /** Mean weighted binary cross-entropy of the rows; no dropout. */
  loss(data: TrainingData, rows: Uint32Array): number;
  /** Computes the gradient of the mean loss of at most `batchSize` rows and returns that loss. */
  backward(data: TrainingData, rows: Uint32Array, random: Random): number;
}

/** One row of working memory per batch row and layer, in the kernel's memory. */
export function createNetwork(shape: NetworkShape): Network {
  const layout = createLayout(shape.sizes);
  const state = createState(shape, layout);
  const { kernel, parameters, gradient } = state;
  return {
    parameters,
    gradient,
    moments: state.moments,
    kernel,
    initialise(random) {
      layout.fill(parameters, (layer) => {
        const bound = 1 / Math.sqrt(shape.sizes[layer]!);
        return () => bound * (2 * random.uniform() - 1);
      });
    },
    load: (layers) => layout.pack(parameters, layers),
    layers: () => layout.unpack(parameters),
    gradientLayers: () => layout.unpack(gradient),
    loss(data, rows) {
      let [loss, weight] = [0, 0];
      for (let start = 0; start < rows.length; start += shape.batchSize) {
        const batch = rows.subarray(start, start + shape.batchSize);
        forward(state, gather(state, data, batch), null);
        const part = outputDelta(state, data, batch);
        loss += part.loss;
        weight += part.weight;
      }
      return weight > 0 ? loss / weight : 0;
    },
    backward(data, rows, random) {
      const padded = gather(state, data, rows);
      forward(state, padded, random);
      const { loss, weight } = outputDelta(state, data, rows);
      propagateBack(state, padded, weight);
      return weight > 0 ? loss / weight : 0;
    },
  };
}
