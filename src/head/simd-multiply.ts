// multiply.ts's product in WebAssembly, four rows at a time. It gives the same bits.
import { product } from "../wasm/bytes.js";
import { instantiate } from "../wasm/module.js";
import { type Multiply, multiply } from "./multiply.js";
import type { Matrix } from "./weights.js";

const rowBlock = 4;
const [floatBytes, doubleBytes] = [4, 8];

/**
 * A product for these matrices, of which it keeps a copy. Another matrix, and the up to three rows that are
 * left over, are multiplied by multiply.ts, as all are where WebAssembly cannot be had.
 */
export function createSimdMultiply(matrices: readonly Matrix[]): Multiply {
  const mostColumns = Math.max(0, ...matrices.map(({ columns }) => even(columns)));
  const mostRows = Math.max(0, ...matrices.map(({ rows }) => rows));
  const sumsStart = mostColumns * doubleBytes;
  let end = sumsStart + 2 * mostRows * doubleBytes;
  const addresses = new Map<Float32Array, number>();
  for (const { values, rows, columns } of matrices) {
    addresses.set(values, end);
    end += blocked(rows) * even(columns) * floatBytes;
  }
  const instance = tryInstantiate(end);
  if (instance === null) return multiply;
  const { memory, exports } = instance;
  for (const { values, rows, columns } of matrices) {
    const placed = new Float32Array(memory, addresses.get(values)!);
    for (let row = 0; row < blocked(rows); row++) {
      placed.set(values.subarray(row * columns, (row + 1) * columns), row * even(columns));
    }
  }
  const input = new Float64Array(memory, 0, mostColumns);
  const sums = new Float64Array(memory, sumsStart, 2 * mostRows);

  return (matrix, rows, vector) => {
    const address = addresses.get(matrix);
    const whole = blocked(rows);
    if (address === undefined || whole === 0 || vector.length === 0) return multiply(matrix, rows, vector);
    const size = vector.length;
    input.set(vector);
    if (even(size) > size) input[size] = 0;
    const rowBytes = even(size) * floatBytes;
    exports.product!(address, address + whole * rowBytes, rowBytes, 0, even(size) * doubleBytes, sumsStart);
    const result = new Float64Array(rows);
    for (let row = 0; row < whole; row++) result[row] = sums[2 * row]! + sums[2 * row + 1]!;
    if (whole < rows) result.set(multiply(matrix.subarray(whole * size), rows - whole, vector), whole);
    return result;
  };
}

/** null where there is no WebAssembly, or no room: it wants ten gigabytes of addresses, not of memory */
function tryInstantiate(bytes: number): ReturnType<typeof instantiate> | null {
  try {
    return instantiate(product, bytes);
  } catch (error) {
    if (error instanceof RangeError || error instanceof ReferenceError) return null;
    throw error;
  }
}

function even(columns: number): number {
  return columns + (columns % 2);
}

function blocked(rows: number): number {
  return rows - (rows % rowBlock);
}
