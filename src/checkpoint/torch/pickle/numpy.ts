// Builds numpy's types, arrays and scalars from their states in a pickle.
import { bytesPerValue } from "../../safetensors-header.js";
import { pickleRefusal } from "../torch-refusal.js";
import {
  describe,
  type NumpyArray,
  NumpyDtype,
  type NumpyScalarType,
  PickleTuple,
  type PickleValue,
  StridedArray,
} from "./pickle-values.js";

const scalarTypes: ReadonlyMap<PickleValue | undefined, NumpyScalarType> = new Map([
  ["f8", "F64"],
  ["f4", "F32"],
  ["f2", "F16"],
  ["i8", "I64"],
  ["i4", "I32"],
  ["b1", "BOOL"],
]);
const maxDimensions = 8;

/** numpy.dtype("f8", False, True). */
export function dtypeOf([name, align, copy, ...rest]: readonly PickleValue[]): NumpyDtype {
  const type = scalarTypes.get(name);
  if (type === undefined || align !== false || copy !== true || rest.length !== 0) {
    throw pickleRefusal(`numpy's type ${describe(name)}`, "f8, f4, f2, i8, i4 or b1");
  }
  return new NumpyDtype(type);
}

/** (3, "<", None, None, None, -1, -1, 0): a plain type, little-endian or of single bytes. */
export function fillDtype(target: NumpyDtype, state: PickleValue): void {
  const [version, order, ...rest] = state instanceof PickleTuple ? state.items : [];
  if (target.isComplete || version !== 3 || !areExactly(rest, [null, null, null, -1, -1, 0])) {
    throw pickleRefusal("a numpy type with fields or a state of its own", "a plain one");
  }
  const wanted = target.dtype === "BOOL" ? "|" : "<";
  if (order !== wanted) {
    throw pickleRefusal(
      `numpy's byte order ${describe(order)}`,
      wanted,
      "save it again on a little-endian machine",
    );
  }
  target.isComplete = true;
}

/** (1, shape, dtype, is Fortran's order, bytes): an array's content. */
export function fillArray(target: NumpyArray, state: PickleValue): void {
  const [version, shape, type, isFortran, data, ...rest] = state instanceof PickleTuple ? state.items : [];
  if (target.content !== null || version !== 1 || !(shape instanceof PickleTuple) || rest.length !== 0) {
    throw pickleRefusal("an array with a state of another kind", "numpy's version 1");
  }
  if (!(type instanceof NumpyDtype) || !type.isComplete || typeof isFortran !== "boolean") {
    throw pickleRefusal("an array without its type", "one");
  }
  if (!(data instanceof Uint8Array)) throw pickleRefusal(`${describe(data)} for numbers`, "bytes");
  const { dtype } = type;
  if (dtype === "I32" || dtype === "BOOL") {
    throw pickleRefusal("an array of numpy's type i4 or b1", "f8, f4, f2 or i8");
  }
  const sizes = sizesOf(shape);
  const count = sizes.reduce((product, size) => product * size, 1);
  if (data.length !== count * bytesPerValue[dtype]) {
    throw pickleRefusal(`an array [${sizes}] ${dtype} of ${data.length} bytes`, "as many as it holds");
  }
  target.content = new StridedArray(dtype, sizes, stridesOf(sizes, isFortran), data);
}

/** numpy.core.multiarray.scalar(dtype, bytes) as a plain number or boolean. */
export function scalarOf([type, data, ...rest]: readonly PickleValue[]): number | boolean {
  if (
    !(type instanceof NumpyDtype) ||
    !type.isComplete ||
    !(data instanceof Uint8Array) ||
    rest.length !== 0
  ) {
    throw pickleRefusal("a numpy scalar of another kind", "its type and bytes");
  }
  const size = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, BOOL: 1 }[type.dtype];
  if (data.length !== size) throw pickleRefusal(`a scalar of ${data.length} bytes`, `${size}`);
  const view = new DataView(data.buffer, data.byteOffset, size);
  if (type.dtype === "F64") return view.getFloat64(0, true);
  if (type.dtype === "F32") return view.getFloat32(0, true);
  if (type.dtype === "I32") return view.getInt32(0, true);
  if (type.dtype === "BOOL") return view.getUint8(0) !== 0;
  const integer = type.dtype === "I64" ? Number(view.getBigInt64(0, true)) : Number.NaN;
  if (Number.isSafeInteger(integer)) return integer;
  throw pickleRefusal("a scalar of type f2 or beyond 2^53", "a common number");
}

/** The dimensions in a tuple: positive integers whose product is exact. */
export function sizesOf(shape: PickleTuple): number[] {
  let count = 1;
  const sizes = shape.items.map((size) => {
    if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 1) {
      throw pickleRefusal(`the dimension ${describe(size)}`, "a positive integer");
    }
    count *= size;
    return size;
  });
  if (sizes.length > maxDimensions || !Number.isSafeInteger(count)) {
    throw pickleRefusal(`a shape of ${sizes.length} dimensions or beyond 2^53 values`, "a smaller one");
  }
  return sizes;
}

/** Compares members one by one. To make a text of them would cost as much as the file likes. */
export function areExactly(found: readonly PickleValue[], wanted: readonly PickleValue[]): boolean {
  return found.length === wanted.length && found.every((value, index) => value === wanted[index]);
}

function stridesOf(sizes: readonly number[], isFortran: boolean): number[] {
  const strides: number[] = new Array(sizes.length);
  let stride = 1;
  for (let step = 0; step < sizes.length; step++) {
    const dimension = isFortran ? step : sizes.length - 1 - step;
    strides[dimension] = stride;
    stride *= sizes[dimension]!;
  }
  return strides;
}
