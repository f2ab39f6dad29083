// Tensors and arrays of a pickle → float32, row-major. The values are copied, so that the bytes of the file
// can go. All copies together have a limit, since a short pickle can name the same bytes any number of times.
import type { Linear } from "../../../head/weights.js";
import { toFloat32 } from "../../safetensors.js";
import { bytesPerValue } from "../../safetensors-header.js";
import type { Fields } from "./fields.js";
import { describe, NumpyArray, StridedArray } from "./pickle-values.js";

/** Reads each array of a file once. */
export class FloatReader {
  private valuesLeft: number;

  /** @param fileBytes size of the whole file; the shortest number takes 2 of its bytes */
  constructor(fileBytes: number) {
    this.valuesLeft = fileBytes / 2;
  }

  /**
   * The values of the array `name` with exactly this shape; F64 is rounded to float32.
   * @throws JudgeError `checkpoint` for another shape or type, and for a value that is not finite as float32
   */
  read(fields: Fields, name: string, shape: readonly number[]): Float32Array {
    const array = arrayOf(fields, name);
    if (array.shape.join() !== shape.join()) {
      throw fields.refusal(name, `[${array.shape}]`, `[${shape}]`);
    }
    this.valuesLeft -= shape.reduce((product, size) => product * size, 1);
    if (this.valuesLeft < 0) {
      throw fields.refusal(name, "bytes used again and again", "each used once");
    }
    const values = toContiguous(array);
    if (values === null) throw fields.refusal(name, `${array.dtype} out of order`, "it contiguous");
    if (values.every(Number.isFinite)) return values;
    throw fields.refusal(name, "a value that is no finite float32", "finite ones");
  }

  /** As `read`, for divisors: every value must be above 0. */
  readScale(fields: Fields, name: string, size: number): Float32Array {
    const values = this.read(fields, name, [size]);
    if (values.every((value) => value > 0)) return values;
    throw fields.refusal(name, "a value ≤ 0 as float32", "all above");
  }

  /** NAME.weight [outputSize, inputSize] and NAME.bias [outputSize] */
  readLinear(fields: Fields, name: string, inputSize: number, outputSize: number): Linear {
    const weight = this.read(fields, `${name}.weight`, [outputSize, inputSize]);
    return { inputSize, outputSize, weight, bias: this.read(fields, `${name}.bias`, [outputSize]) };
  }
}

/** The dimensions of an array, which must be as many as `dimensions` says. */
export function shapeOf(fields: Fields, name: string, dimensions: 1): [number];
export function shapeOf(fields: Fields, name: string, dimensions: 2): [number, number];
export function shapeOf(fields: Fields, name: string, dimensions: number): number[] {
  const { shape } = arrayOf(fields, name);
  if (shape.length === dimensions) return [...shape];
  throw fields.refusal(name, `[${shape}]`, `${dimensions} dimension${dimensions === 1 ? "" : "s"}`);
}

/** The tensor or numpy array of that name, which must hold floating-point numbers in 1 or 2 dimensions. */
function arrayOf(fields: Fields, name: string): StridedArray {
  const value = fields.take(name);
  const array = value instanceof NumpyArray ? value.content : value;
  if (array instanceof StridedArray && array.dtype !== "I64" && [1, 2].includes(array.shape.length))
    return array;
  throw fields.refusal(name, describe(value), "floating-point numbers in 1 or 2 dimensions");
}

/** The values row by row; null for an order that is not supported. */
function toContiguous({ dtype, shape, strides, data }: StridedArray): Float32Array | null {
  const [rows, columns] = shape.length === 1 ? [1, shape[0]!] : [shape[0]!, shape[1]!];
  const columnStride = strides.at(-1)!;
  const rowStride = shape.length === 1 ? columns : strides[0]!;
  if ((columnStride === 1 || columns === 1) && (rowStride === columns || rows === 1)) {
    const size = rows * columns * bytesPerValue[dtype];
    // data.subarray of a Buffer would give another Buffer, whose slice() does not copy
    return toFloat32({ dtype, shape, data: new Uint8Array(data.buffer, data.byteOffset, size) });
  }
  if (dtype !== "F32" && dtype !== "F64") return null;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const values = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const index = row * rowStride + column * columnStride;
      values[row * columns + column] =
        dtype === "F32" ? view.getFloat32(4 * index, true) : view.getFloat64(8 * index, true);
    }
  }
  return values;
}
