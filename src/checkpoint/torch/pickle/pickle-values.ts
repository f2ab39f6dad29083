// The values that a checkpoint's pickle may hold. Dicts are Maps, so that no key can reach a prototype.
// Whatever Python would build with a call is one of the few shapes here.

import type { Dtype } from "../../safetensors-header.js";
import { show } from "../../show.js";

export type PickleValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | PickleValue[]
  | PickleDict
  | PickleTuple
  | LongText
  | Global
  | Storage
  | StridedArray
  | NumpyDtype
  | NumpyArray
  | ObjectBag;

export type PickleDict = Map<string | number, PickleValue>;

export class PickleTuple {
  constructor(readonly items: readonly PickleValue[]) {}
}

/** collections.OrderedDict: what torch's state dicts are. */
export class OrderedDict extends Map<string | number, PickleValue> {}

/** A string longer than any name, undecoded. Protocol 2 writes the bytes of an array as such a text. */
export class LongText {
  constructor(readonly utf8: Uint8Array) {}
}

/** The name of a function or class of Python that is on the allow-list. */
export class Global {
  constructor(readonly name: string) {}
}

/** The bytes of one or more tensors. */
export class Storage {
  constructor(
    readonly dtype: Dtype,
    readonly data: Uint8Array,
  ) {}
}

/** A torch tensor or the content of a numpy array. Its shape has been checked against its bytes. */
export class StridedArray {
  constructor(
    readonly dtype: Dtype,
    readonly shape: readonly number[],
    /** the distance of two neighbours in each dimension, counted in values */
    readonly strides: readonly number[],
    /** starts with the first value */
    readonly data: Uint8Array,
  ) {}
}

export class NumpyDtype {
  /** whether its state was read, which gives the byte order */
  isComplete = false;

  constructor(readonly dtype: NumpyScalarType) {}
}

export type NumpyScalarType = Dtype | "I32" | "BOOL";

/** A numpy array. It is empty until its state is read. */
export class NumpyArray {
  content: StridedArray | null = null;
}

/** An object of a known class with its attributes. None of them is ever called. */
export class ObjectBag {
  attributes: PickleDict | null = null;

  constructor(readonly className: string) {}
}

/** A value in a few words, for a message. */
export function describe(value: PickleValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "None";
  if (typeof value === "string") return show(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Map) return `a dict of ${value.size}`;
  if (value instanceof StridedArray) return `${value.dtype} [${value.shape}]`;
  if (value instanceof NumpyArray) return value.content === null ? "an empty array" : describe(value.content);
  if (value instanceof ObjectBag) return `an object of ${value.className}`;
  if (value instanceof Global) return show(value.name);
  if (value instanceof PickleTuple) return `a tuple of ${value.items.length}`;
  return Array.isArray(value) ? `a list of ${value.length}` : "a value of another kind";
}
