// Where weights and biases stand in a network's flat, padded parameters. Padding is zero and stays zero.
import type { Linear } from "../../head/weights.js";
import { columnBlock } from "../numeric/kernel.js";

/** What a member learns from. */
export interface TrainingData {
  readonly rows: number;
  readonly columns: number;
  readonly outputs: number;
  /** [rows, columns] */
  readonly features: Float32Array;
  /** [rows, outputs] 0…1 */
  readonly target: Float32Array;
  /** [rows, outputs]; 0 masks a label that is not known */
  readonly weight: Float32Array;
}

export interface NetworkShape {
  /** inputs, hidden widths, outputs */
  readonly sizes: readonly number[];
  /** by hidden layer: the share of activations dropped; the rest grow by 1 / (1 − share) */
  readonly dropout: readonly number[];
  readonly batchSize: number;
}

export interface LayerPlace {
  /** offset of [inputs, outputs], padded */
  readonly weight: number;
  /** offset of [outputs], padded; the weights end here */
  readonly bias: number;
  /** padded */
  readonly inputs: number;
  /** padded */
  readonly outputs: number;
}

export interface Layout {
  /** padded, inputs first */
  readonly widths: readonly number[];
  readonly layers: readonly LayerPlace[];
  /** length of the parameters */
  readonly size: number;
  /** Sets every weight in [outputs, inputs] order, then every bias, layer by layer; not the padding. */
  fill(parameters: Float32Array, valuesOf: (layer: number) => () => number): void;
  pack(parameters: Float32Array, layers: readonly Linear[]): void;
  unpack(parameters: Float32Array): Linear[];
}

/** @param sizes inputs, hidden widths, outputs */
export function createLayout(sizes: readonly number[]): Layout {
  const widths = sizes.map((size) => Math.ceil(size / columnBlock) * columnBlock);
  let size = 0;
  const layers = widths.slice(1).map((outputs, layer): LayerPlace => {
    const inputs = widths[layer]!;
    const weight = size;
    const bias = weight + inputs * outputs;
    size = bias + outputs;
    return { weight, bias, inputs, outputs };
  });
  /** Offsets of a layer's real parameters in the order of `Linear`. */
  const places = (layer: number): { weight: Uint32Array; bias: Uint32Array } => {
    const [inputSize, outputSize] = [sizes[layer]!, sizes[layer + 1]!];
    const { weight, bias, outputs } = layers[layer]!;
    return {
      weight: Uint32Array.from({ length: inputSize * outputSize }, (_, index) => {
        const output = Math.floor(index / inputSize);
        return weight + (index - output * inputSize) * outputs + output;
      }),
      bias: Uint32Array.from({ length: outputSize }, (_, output) => bias + output),
    };
  };
  return {
    widths,
    layers,
    size,
    fill(parameters, valuesOf) {
      layers.forEach((_, layer) => {
        const value = valuesOf(layer);
        const { weight, bias } = places(layer);
        for (const place of weight) parameters[place] = value();
        for (const place of bias) parameters[place] = value();
      });
    },
    pack(parameters, given) {
      given.forEach((linear, layer) => {
        const { weight, bias } = places(layer);
        if (linear.weight.length !== weight.length || linear.bias.length !== bias.length) {
          throw new RangeError(`layer ${layer} is not of the network's size`);
        }
        weight.forEach((place, index) => {
          parameters[place] = linear.weight[index]!;
        });
        bias.forEach((place, index) => {
          parameters[place] = linear.bias[index]!;
        });
      });
    },
    unpack(parameters) {
      return layers.map((_, layer) => {
        const { weight, bias } = places(layer);
        return {
          inputSize: sizes[layer]!,
          outputSize: sizes[layer + 1]!,
          weight: Float32Array.from(weight, (place) => parameters[place]!),
          bias: Float32Array.from(bias, (place) => parameters[place]!),
        };
      });
    },
  };
}
