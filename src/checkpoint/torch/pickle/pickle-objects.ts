// The closed list of what a pickle may ask Python to look up, call or fill. Each is built here as plain data.
// A global that is not on the list is refused by its name.
import { show } from "../../show.js";
import { distrust, pickleRefusal } from "../torch-refusal.js";
import { areExactly, dtypeOf, fillArray, fillDtype, scalarOf } from "./numpy.js";
import {
  describe,
  Global,
  LongText,
  NumpyArray,
  NumpyDtype,
  ObjectBag,
  OrderedDict,
  PickleTuple,
  type PickleValue,
  type Storage,
} from "./pickle-values.js";
import { rebuildTensor, StorageShelf } from "./torch-tensors.js";

type Call = (args: readonly PickleValue[], objects: PickleObjects) => PickleValue;

const noCall: Call = () => {
  throw pickleRefusal("a call of what is only a type here", "none", distrust);
};

/** The result of a call, by the name of the global. */
const calls: ReadonlyMap<string, Call> = new Map<string, Call>([
  ["collections.OrderedDict", (args) => orderedDict(args)],
  ["torch._utils._rebuild_tensor_v2", (args) => rebuildTensor(args)],
  ["numpy._core.multiarray._reconstruct", (args) => newArray(args)],
  ["numpy.core.multiarray._reconstruct", (args) => newArray(args)],
  ["numpy._core.multiarray.scalar", (args) => scalarOf(args)],
  ["numpy.core.multiarray.scalar", (args) => scalarOf(args)],
  ["numpy.dtype", (args) => dtypeOf(args)],
  ["numpy.ndarray", noCall],
  ["_codecs.encode", (args, objects) => objects.encode(args)],
  ["torch.FloatStorage", noCall],
  ["torch.DoubleStorage", noCall],
  ["torch.HalfStorage", noCall],
  ["torch.BFloat16Storage", noCall],
  ["torch.LongStorage", noCall],
  ["sklearn.preprocessing._data.StandardScaler", noCall],
  ["sklearn.decomposition._pca.PCA", noCall],
]);

export class PickleObjects {
  private readonly globals = new Map<string, Global>();
  private readonly shelf: StorageShelf;

  /** @param encodeBudget bytes that all calls of _codecs.encode may give together */
  constructor(
    storages: ReadonlyMap<string, Uint8Array>,
    private encodeBudget: number,
  ) {
    this.shelf = new StorageShelf(storages);
  }

  /** GLOBAL, STACK_GLOBAL: a name on the list. */
  lookUp(module: PickleValue, name: PickleValue): Global {
    const found = typeof module === "string" && typeof name === "string" ? `${module}.${name}` : null;
    // with a dot in the second half, two different pairs of halves could give one name
    if (found === null || !calls.has(found) || String(name).includes(".")) {
      throw pickleRefusal(
        `the global ${found === null ? "of no name" : show(found)}`,
        "those of tensors, numpy arrays and scikit-learn's StandardScaler and PCA",
        distrust,
      );
    }
    const global = this.globals.get(found) ?? new Global(found);
    this.globals.set(found, global);
    return global;
  }

  /** REDUCE: what the call of a name on the list gives. */
  reduce(callable: PickleValue, args: PickleValue): PickleValue {
    const call = callable instanceof Global ? calls.get(callable.name) : undefined;
    if (call === undefined || !(args instanceof PickleTuple)) {
      throw pickleRefusal(`a call of ${describe(callable)}`, "one of a name on the list", distrust);
    }
    return call(args.items, this);
  }

  /** NEWOBJ: an object of scikit-learn, without attributes so far. */
  create(type: PickleValue, args: PickleValue): ObjectBag {
    const className = type instanceof Global ? type.name : "";
    if (!className.startsWith("sklearn.") || !(args instanceof PickleTuple) || args.items.length !== 0) {
      throw pickleRefusal(`an object of ${describe(type)}`, "one of scikit-learn", distrust);
    }
    return new ObjectBag(className);
  }

  /** BUILD: gives an object its content, once. */
  build(state: PickleValue, target: PickleValue): void {
    if (target instanceof NumpyArray) fillArray(target, state);
    else if (target instanceof NumpyDtype) fillDtype(target, state);
    else if (target instanceof ObjectBag && target.attributes === null && state instanceof Map) {
      target.attributes = state;
    } else if (!(target instanceof OrderedDict && isModuleMetadata(state))) {
      throw pickleRefusal(`a state for ${describe(target)}`, "one for an object without any", distrust);
    }
  }

  /** BINPERSID: the storage of a tensor. */
  storage(id: PickleValue): Storage {
    return this.shelf.take(id);
  }

  /** Demands that the pickle used every storage of the file: no bytes lie there for another reader. */
  checkAllUsed(): void {
    this.shelf.checkAllUsed();
  }

  /** _codecs.encode(text, "latin1"): bytes, which protocol 2 can only write as a text. */
  encode([text, encoding, ...rest]: readonly PickleValue[]): Uint8Array {
    if (encoding !== "latin1" || rest.length !== 0) {
      throw pickleRefusal(`a text to be encoded as ${describe(encoding)}`, "latin1", distrust);
    }
    const size = typeof text === "string" ? text.length : text instanceof LongText ? text.utf8.length : 0;
    this.encodeBudget -= size;
    if (this.encodeBudget < 0) throw pickleRefusal("the same bytes again and again", "them once");
    if (typeof text === "string") return latin1OfText(text);
    if (text instanceof LongText) return latin1OfUtf8(text.utf8);
    throw pickleRefusal(`${describe(text)} to be encoded`, "a text");
  }
}

function latin1OfText(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 255) throw notLatin1();
    bytes[index] = code;
  }
  return bytes;
}

/** UTF-8 → latin1, without a string in between that would take twice the memory. */
function latin1OfUtf8(utf8: Uint8Array): Uint8Array {
  let doubles = 0;
  for (let place = 0; place < utf8.length; place++) doubles += utf8[place]! >> 7;
  const bytes = new Uint8Array(utf8.length - Math.floor(doubles / 2));
  let size = 0;
  for (let place = 0; place < utf8.length; place++) {
    const first = utf8[place]!;
    if (first < 0x80) {
      bytes[size++] = first;
      continue;
    }
    const second = utf8[++place] ?? 0;
    // the characters 80 to FF begin with the bytes C2 and C3
    if ((first !== 0xc2 && first !== 0xc3) || second >> 6 !== 2) throw notLatin1();
    bytes[size++] = ((first & 3) << 6) | (second & 63);
  }
  return bytes;
}

function notLatin1(): Error {
  return pickleRefusal("a text for bytes that is not latin1", "latin1");
}

function orderedDict(args: readonly PickleValue[]): OrderedDict {
  if (args.length !== 0) throw pickleRefusal("an OrderedDict made of something", "an empty one");
  return new OrderedDict();
}

/** _reconstruct(numpy.ndarray, (0,), b"b"): an array that gets its state later. */
function newArray([type, shape, kind, ...rest]: readonly PickleValue[]): NumpyArray {
  const isPlain =
    type instanceof Global &&
    type.name === "numpy.ndarray" &&
    shape instanceof PickleTuple &&
    areExactly(shape.items, [0]) &&
    kind instanceof Uint8Array &&
    areExactly([...kind.subarray(0, 2)], [0x62]) &&
    rest.length === 0;
  if (!isPlain) throw pickleRefusal("an array of another making", "a plain numpy array");
  return new NumpyArray();
}

/** The versions of modules that torch adds to a state dict. No computation needs them. */
function isModuleMetadata(state: PickleValue): boolean {
  return state instanceof Map && state.size === 1 && state.has("_metadata");
}
