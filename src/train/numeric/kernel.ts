// Float32 products, ReLU, dropout and Adam in WebAssembly. Every machine gets the same bytes.
import { training } from "../../wasm/bytes.js";
import { instantiate } from "../../wasm/module.js";

/** Every row count must be a multiple of this, … */
export const rowBlock = 4;
/** … and every column count of this. */
export const columnBlock = 8;

/** result [rows, columns] = left [rows, depth] · right [depth, columns]; right and result are row-major */
export interface Product {
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly left: Float32Array;
  /** floats from one row of `left` to the next: its width, or 1 where it is stored transposed */
  readonly leftRow: number;
  /** floats from one column of `left` to the next: 1, or its width where it is stored transposed */
  readonly leftColumn: number;
  readonly right: Float32Array;
  readonly result: Float32Array;
}

export interface AdamStep {
  readonly parameters: Float32Array;
  readonly gradient: Float32Array;
  readonly firstMoment: Float32Array;
  readonly secondMoment: Float32Array;
  readonly weightDecay: number;
  readonly beta1: number;
  readonly beta2: number;
  /** learning rate ÷ (1 − beta1^t) */
  readonly stepSize: number;
  /** √(1 − beta2^t) */
  readonly secondCorrection: number;
  readonly epsilon: number;
}

export interface Activation {
  /** [rows, bias's length] */
  readonly values: Float32Array;
  readonly bias: Float32Array;
  /** as long as values at least, from 0 up */
  readonly chance: Float32Array;
  /** a value whose chance is lower becomes 0 */
  readonly share: number;
  /** factor of the others */
  readonly scale: number;
}

export interface Kernel {
  /** one for each of the sizes asked for, zeroed; the only arrays that the operations take */
  readonly arrays: readonly Float32Array[];
  multiply(product: Product): void;
  /** values ← chance < share ? 0 : scale · relu(values + bias) */
  activate(activation: Activation): void;
  /** slopes ← activations > 0 ? scale · slopes : 0 */
  reluSlope(slopes: Float32Array, activations: Float32Array, scale: number): void;
  /** as torch.optim.Adam with its L2 `weight_decay`; lengths are multiples of 4 */
  adam(step: AdamStep): void;
}

/** @param sizes the arrays' lengths in floats; maxDepth: the largest `depth` of a product */
export function createKernel(sizes: readonly number[], maxDepth: number): Kernel {
  const panelSize = maxDepth * columnBlock;
  const starts: number[] = [];
  let end = 0;
  for (const size of [panelSize, ...sizes]) {
    starts.push(end);
    // a cache line
    end += Math.ceil((size * 4) / 64) * 64;
  }
  const { memory, exports } = instantiate(training, end);
  const { multiply, activate, reluSlope, adam } = exports;
  return {
    arrays: sizes.map((size, index) => new Float32Array(memory, starts[index + 1]!, size)),
    multiply({ rows, columns, depth, left, leftRow, leftColumn, right, result }) {
      const addresses = [left.byteOffset, right.byteOffset, result.byteOffset] as const;
      multiply!(...addresses, leftRow * 4, leftColumn * 4, rows * leftRow * 4, columns * 4, depth * 32);
    },
    activate({ values, bias, chance, share, scale }) {
      const addresses = [
        values.byteOffset,
        values.byteOffset + values.byteLength,
        chance.byteOffset,
      ] as const;
      activate!(...addresses, bias.byteOffset, bias.byteOffset + bias.byteLength, share, scale);
    },
    reluSlope(slopes, activations, scale) {
      reluSlope!(slopes.byteOffset, slopes.byteOffset + slopes.byteLength, activations.byteOffset, scale);
    },
    adam({ parameters, gradient, firstMoment, secondMoment, ...step }) {
      const addresses = [parameters, gradient, firstMoment, secondMoment].map((array) => array.byteOffset);
      const factors = [step.weightDecay, step.beta1, 1 - step.beta1, step.beta2, 1 - step.beta2];
      const end = parameters.byteOffset + parameters.byteLength;
      adam!(...addresses, end, ...factors, step.stepSize, step.secondCorrection, step.epsilon);
    },
  };
}
