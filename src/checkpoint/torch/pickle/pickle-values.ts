// What a checkpoint's pickle may hold. Dictionaries are Maps, so that no key can reach a prototype; everything else
// that Python would build by calling something is one of the few closed shapes here.

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

/** A string longer than any name, undecoded: the text under which Python 2's protocol hides the bytes of an array. */
export class LongText {
  constructor(readonly utf8: Uint8Array) {}
}

/** A function or class of Python, as a mere name out of the allow-list. */
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

/** Numbers in a rectangle, checked against the bytes they lie in: a torch tensor or the content of a numpy array. */
export class StridedArray {
  constructor(
    readonly dtype: Dtype,
    readonly shape: readonly number[],
    /** distance of neighbours along each dimension, in values */
    readonly strides: readonly number[],
    /** starts with the first value */
    readonly data: Uint8Array,
  ) {}
}

export class NumpyDtype {
  /** the state gives the byte order; without it the type is not usable */
  isComplete = false;

  constructor(readonly dtype: NumpyScalarType) {}
}

export type NumpyScalarType = Dtype | "I32" | "BOOL";

/** A numpy array: empty as it is made, filled by its state. */
export class NumpyArray {
  content: StridedArray | null = null;
}

/** An object of a known class with its attributes, none of which is ever called. */
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
