// The restricted pickle machine as a security boundary, tests named by attack.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { opcodeName } from "../../../../../src/checkpoint/torch/pickle/opcode-name.js";
import {
  NumpyArray,
  ObjectBag,
  type PickleTuple,
  StridedArray,
} from "../../../../../src/checkpoint/torch/pickle/pickle-values.js";
import { readPickle } from "../../../../../src/checkpoint/torch/pickle/read-pickle.js";
import { parseTorchCheckpoint } from "../../../../../src/checkpoint/torch/torch-checkpoint.js";
import { fixturePath } from "../../../../support/fixtures.js";
import { refusal } from "../../../../support/refusal.js";
import {
  type Buildable,
  Call,
  dtype,
  Float,
  latin1,
  Named,
  Numpy,
  orderedDict,
  pickleOf,
  Raw,
  scalar,
  sklearn,
  Tensor,
  Tuple,
  write,
} from "../../../../support/torch/pickle-builder.js";
import { packed, text } from "../../../../support/torch/zip-builder.js";

const opcodes = (...parts: readonly (number | string | Uint8Array)[]): Uint8Array =>
  pickleOf(
    parts.flatMap((part) =>
      typeof part === "number" ? [part] : [...(typeof part === "string" ? text(part) : part)],
    ),
  );

function read(value: Buildable): ReturnType<typeof readPickle> {
  const storages = new Map<string, Uint8Array>();
  const bytes = pickleOf(write(value, storages));
  return readPickle(bytes, storages);
}

const refused = (action: () => unknown, message: RegExp) => {
  const error = refusal("checkpoint", action);
  assert.match(error.message, message);
  assert.match(error.message, /^data\.pkl: found .*; /);
  assert.ok(error.message.length < 250, error.message);
};

describe("the hostile files are refused:", () => {
  for (const [name, message] of [
    ["os-system", /global "posix\.system".*do not trust this file/],
    ["builtins-eval", /global "__builtin__\.eval"/],
    ["import-module", /global "importlib\.import_module"/],
    ["subprocess", /global "commands\.check_output"/],
    ["deep-marks", /more than 200 open marks/],
    ["no-data-pkl", /"archive\/readme\.txt", wanted NAME\/data\.pkl/],
    ["cut-short", /no end record/],
    ["text", /no end record/],
  ] as const) {
    test(name, () => {
      const bytes = readFileSync(fixturePath(`checkpoints/hostile/${name}.pt`));
      assert.match(refusal("checkpoint", () => parseTorchCheckpoint(bytes)).message, message);
    });
  }
});

describe("a global that is not on the list is refused by its name:", () => {
  for (const [module, name] of [
    ["os", "system"],
    ["builtins", "getattr"],
    ["builtins", "dict"],
    ["torch", "load"],
    ["torch.hub", "load"],
    ["torch._utils", "_rebuild_tensor"],
    ["torch.storage", "_load_from_bytes"],
    ["numpy", "load"],
    ["numpy._core.multiarray", "_reconstruct2"],
    ["numpy.lib.npyio", "load"],
    ["_codecs", "lookup"],
    ["collections", "OrderedDict.fromkeys"],
    ["sklearn.preprocessing._data", "RobustScaler"],
    ["sklearn.pipeline", "Pipeline"],
    ["copyreg", "_reconstructor"],
    ["__main__", "constructor"],
    ["__proto__", "__proto__"],
  ] as const) {
    const message = new RegExp(`found the global "${`${module}.${name}`.replaceAll(".", "\\.")}", wanted`);
    test(`${module}.${name} by GLOBAL`, () => refused(() => read(new Named(module, name)), message));
    test(`${module}.${name} by STACK_GLOBAL`, () => {
      const bytes = [...write(module, new Map()), ...write(name, new Map()), 0x93];
      refused(() => readPickle(pickleOf(bytes, 4), new Map()), message);
    });
  }

  test("two halves that make a known name another way", () => {
    const bytes = [...write("torch", new Map()), ...write("_utils._rebuild_tensor_v2", new Map()), 0x93];
    refused(() => readPickle(pickleOf(bytes, 4), new Map()), /global "torch\._utils\._rebuild_tensor_v2"/);
  });
  test("halves that are no texts", () => {
    refused(() => readPickle(opcodes(0x4e, 0x4e, 0x93), new Map()), /global of no name/);
  });
  test("a name with a control character", () => {
    refused(() => read(new Named("os", "sys\x1btem")), /not printable ASCII/);
  });
  test("a name without an end", () => {
    refused(() => readPickle(opcodes(0x63, "a".repeat(300)), new Map()), /name of more than 200 bytes/);
  });
});

test("every opcode that torch.save does not write is refused by its name", () => {
  const known =
    "MARK STOP BININT BININT1 BININT2 NONE BINPERSID REDUCE BINUNICODE APPEND BUILD GLOBAL EMPTY_DICT APPENDS BINGET LONG_BINGET EMPTY_LIST BINPUT LONG_BINPUT SETITEM TUPLE EMPTY_TUPLE SETITEMS BINFLOAT NEWOBJ TUPLE1 TUPLE2 TUPLE3 NEWTRUE NEWFALSE LONG1 BINBYTES SHORT_BINBYTES SHORT_BINUNICODE BINUNICODE8 BINBYTES8 STACK_GLOBAL MEMOIZE FRAME";
  const accepted = new Set(known.split(" "));
  let refusals = 0;
  for (let opcode = 0; opcode < 256; opcode++) {
    const name = opcodeName(opcode);
    if (accepted.has(name)) continue;
    refused(() => readPickle(opcodes(opcode), new Map()), new RegExp(`found the opcode ${name}, wanted`));
    refusals++;
  }
  assert.equal(refusals, 256 - accepted.size);
});

const rebuild = (...args: readonly Buildable[]) =>
  new Call(new Named("torch._utils", "_rebuild_tensor_v2"), args);
const scaler = new Named("sklearn.preprocessing._data", "StandardScaler");
const attacks: readonly (readonly [attack: string, value: Buildable, message: RegExp])[] = [
  ["a call of a text", new Call("posix.system", []), /call of "posix\.system"/],
  ["a call of a class of scikit-learn", new Call(scaler, []), /call of what is only a type/],
  ["a call of numpy.ndarray", new Call(new Named("numpy", "ndarray"), [new Tuple([9])]), /only a type/],
  [
    "an object of a function",
    new Call(new Named("_codecs", "encode"), [], undefined, 0x81),
    /an object of "_codecs\.encode"/,
  ],
  ["an object of scikit-learn made of something", new Call(scaler, [1], undefined, 0x81), /an object of/],
  [
    "a state of a list",
    new Raw([...write([], new Map()), ...write({}, new Map()), 0x62]),
    /state for a list/,
  ],
  [
    "a state of a dict",
    new Raw([...write({}, new Map()), ...write({ a: 1 }, new Map()), 0x62]),
    /state for a dict/,
  ],
  [
    "attributes that are no dict",
    sklearn("preprocessing._data", "StandardScaler", ["a"]),
    /a state for an object/,
  ],
  [
    "a second state",
    new Raw([...sklearn("decomposition._pca", "PCA", {}).write(new Map()), ...write({}, new Map()), 0x62]),
    /a state for/,
  ],
  [
    "another state of an OrderedDict",
    new Call(new Named("collections", "OrderedDict"), [], { a: 1 }),
    /a state for/,
  ],
  ["an OrderedDict of pairs", new Call(new Named("collections", "OrderedDict"), [[]]), /made of something/],
  ["bytes by another encoding", latin1("abc", "rot13"), /encoded as "rot13", wanted latin1/],
  ["bytes of a character beyond latin1", latin1("\u0100"), /not latin1/],
  ["bytes of a long text beyond latin1", latin1(`${"é".repeat(5000)}\u20ac`), /not latin1/],
  ["bytes of a number", new Call(new Named("_codecs", "encode"), [7, "latin1"]), /found 7 to be encoded/],
  ["a numpy type of objects", dtype("O"), /numpy's type "O"/],
  ["a numpy type of 2 GB", dtype("V2000000000"), /numpy's type/],
  ["a numpy type of the other byte order", dtype("f8", ">"), /byte order ">", wanted </],
  ["a numpy type with fields", dtype("f8", "<", 4), /plain one/],
  [
    "a numpy array of a class of its own",
    new Call(new Named("numpy._core.multiarray", "_reconstruct"), [scaler, new Tuple([0]), latin1("b")]),
    /another making/,
  ],
  ["a numpy array of more values than bytes", new Numpy([5], [1, 2, 3, 4]), /\[5\] F64 of 32 bytes/],
  ["a numpy array of fewer values than bytes", new Numpy([3], [1, 2, 3, 4]), /\[3\] F64 of 32 bytes/],
  ["a numpy array of a negative shape", new Numpy([-2, -2], [1, 2, 3, 4]), /dimension -2/],
  ["a numpy array of shape 0", new Numpy([0], []), /dimension 0/],
  ["a numpy array of 2^60 values", new Numpy([2 ** 30, 2 ** 30], [1]), /beyond 2\^53/],
  ["a numpy array of 9 dimensions", new Numpy([1, 1, 1, 1, 1, 1, 1, 1, 1], [1]), /9 dimensions/],
  ["a numpy scalar of 3 bytes", scalar("f8", "abc"), /scalar of 3 bytes, wanted 8/],
  [
    "a numpy scalar of no type",
    new Call(new Named("numpy._core.multiarray", "scalar"), [1, latin1("a")]),
    /scalar of another kind/,
  ],
  [
    "a persistent id that is a text",
    new Raw([...write("storage", new Map()), 0x51]),
    /persistent id of nothing/,
  ],
  [
    "a persistent id of another kind",
    new Raw([...write(new Tuple(["module", 1, "0", "cpu", 1]), new Map()), 0x51]),
    /persistent id/,
  ],
  [
    "a storage that the file lacks",
    new Raw([
      ...write(new Tuple(["storage", new Named("torch", "FloatStorage"), "9", "cpu", 1]), new Map()),
      0x51,
    ]),
    /storage "9" that the file lacks/,
  ],
  [
    "a tensor past its storage",
    new Tensor([5], [1, 2, 3, 4]),
    /\[5\] with strides \[1\] from 0, wanted it within 4/,
  ],
  ["a tensor from past its storage", new Tensor([2], [1, 2, 3, 4], { offset: 3 }), /within 4 values/],
  [
    "a tensor of strides past its storage",
    new Tensor([2, 2], [1, 2, 3, 4], { strides: [3, 1] }),
    /within 4 values/,
  ],
  ["a tensor of a negative stride", new Tensor([2], [1, 2], { strides: [-1] }), /stride -1/],
  ["a tensor of a negative offset", new Tensor([2], [1, 2], { offset: -1 }), /-1, wanted an integer/],
  [
    "a tensor that repeats one value 4 billion times",
    new Tensor([65536, 65535], [1], { strides: [0, 0] }),
    /within 1 values/,
  ],
  ["a tensor of too few strides", new Tensor([2, 2], [1, 2, 3, 4], { strides: [1] }), /within/],
  [
    "a tensor of no storage",
    rebuild(1, 0, new Tuple([1]), new Tuple([1]), false, orderedDict),
    /without storage/,
  ],
  [
    "a list nested 100 deep",
    Array.from({ length: 100 }).reduce<Buildable>((inner) => [inner], []),
    /deeper than 64/,
  ],
];

describe("a pickle is refused for:", () => {
  for (const [attack, value, message] of attacks) test(attack, () => refused(() => read(value), message));

  const attack = (name: string, bytes: Uint8Array, message: RegExp) =>
    test(name, () => refused(() => readPickle(bytes, new Map()), message));
  const repeat = (count: number, ...bytes: number[]) =>
    new Uint8Array(count * bytes.length).map((_, i) => bytes[i % bytes.length]!);
  attack("no bytes", new Uint8Array(0), /0 bytes left, wanted 1/);
  attack("protocol 0", text("(dp0\n."), /no protocol number/);
  attack("protocol 1", pickleOf([0x4e], 1), /protocol 1, wanted 2 to 4/);
  attack("protocol 5", pickleOf([0x4e], 5), /protocol 5, wanted 2 to 4/);
  attack("no end", Uint8Array.of(0x80, 2, 0x4e), /0 bytes left, wanted 1/);
  attack("no value", opcodes(), /0 values at the end, wanted 1/);
  attack("two values", opcodes(0x4e, 0x4e), /2 values at the end/);
  attack("an open mark at the end", opcodes(0x4e, 0x28), /1 values at the end/);
  attack("bytes behind its end", opcodes(0x4e, ".x"), /2 bytes behind the pickle/);
  attack("a second pickle behind the first", opcodes(0x4e, ".", 0x80, 2, 0x4e), /bytes behind/);
  attack("taking from an empty stack", opcodes(0x61), /more than the stack holds/);
  attack("taking from below a mark", opcodes(0x4e, 0x28, 0x85), /more than the stack holds/);
  attack("a tuple without a mark", opcodes(0x74), /wanted one before/);
  attack("members for a number", opcodes("K", 1, "K", 2, "a"), /no list/);
  attack("members for what is no dict", opcodes("]", "K", 1, "K", 2, "s"), /no dict/);
  attack("a key without a value", opcodes("}(", "K", 1, "u"), /key without a value/);
  attack("a list as a key", opcodes("}](", ")", "u"), /no dict|key/);
  attack(
    "a float as a key",
    pickleOf([0x7d, ...new Float(0.5).write(), 0x4e, 0x73]),
    /neither a text nor an integer/,
  );
  attack("a key twice", opcodes("}(", "K", 1, "N", "K", 1, "N", "u"), /key twice/);
  attack(
    "the key __proto__",
    pickleOf([0x7d, ...write("__proto__", new Map()), 0x4e, 0x73]),
    /key "__proto__"/,
  );
  attack("a memo number out of order", opcodes("Nq", 5), /memo number 5, wanted 0/);
  attack("a memo number of 4 billion", opcodes("Nr", packed([4, 0xffffffff])), /memo number 4294967295/);
  attack("a memo number before it was kept", opcodes("h", 0), /memo number 0 before it was kept/);
  attack("a text longer than the file", opcodes("X", packed([4, 1000]), "abc"), /4 bytes left, wanted 1000/);
  attack("a text of 4 GiB", opcodes("X", packed([4, 0xffffffff])), /wanted 4294967295/);
  attack("a text of 2^63 bytes", opcodes(0x8d, new Uint8Array(8).fill(0x7f)), /wanted 9187201950435737471/);
  attack("bytes of 2^63", opcodes(0x8e, new Uint8Array(8).fill(0x7f)), /wanted 9187201950435737471/);
  attack("a frame longer than the file", opcodes(0x95, packed([8, 1000])), /wanted 1000/);
  attack("a text that is not UTF-8", opcodes("X", packed([4, 1]), 0xff), /not UTF-8/);
  attack("half a surrogate pair", opcodes("X", packed([4, 3]), 0xed, 0xa0, 0x80), /not UTF-8/);
  attack("an integer of 255 bytes", opcodes(0x8a, 255, new Uint8Array(255)), /integer of 255 bytes/);
  attack("an integer beyond 2^53", opcodes(0x8a, 8, new Uint8Array(8).fill(0x7f)), /beyond 2\^53/);
  attack("a list in itself", opcodes("]q", 0, "h", 0, "a"), /deeper than 64/);
  attack("a dict in itself", opcodes("}q", 0, "Nh", 0, "s"), /neither|deeper/);
  attack("20,000 values on the stack", opcodes(repeat(20_000, 0x4e)), /10000 values on the stack/);
  attack("300 open marks", opcodes(repeat(300, 0x28)), /200 open marks/);
  attack("600,000 opcodes", opcodes("]", repeat(300_000, 0x4e, 0x61)), /members in one list|500000 opcodes/);
  attack(
    "300,000 lists",
    opcodes(
      "](",
      repeat(4000, 0x5d),
      "e",
      ...Array.from({ length: 60 }, () => ["](", repeat(4000, 0x5d), "ea"]).flat(),
    ),
    /more containers than any checkpoint/,
  );
  attack("300,000 memo numbers", opcodes("N", repeat(300_000, 0x94)), /memo number 200000/);
  attack(
    "200,000 members of one list",
    opcodes("]", ...Array.from({ length: 25 }, () => ["(", repeat(8000, 0x4e), "e"]).flat()),
    /100000 members/,
  );
  attack(
    "the same bytes encoded 1,000 times",
    pickleOf([
      0x5d,
      ...write("x".repeat(5000), new Map()),
      0x71,
      0,
      0x61,
      ...write(
        new Raw(
          repeat(
            1000,
            0x63,
            ...text("_codecs\nencode\n"),
            0x68,
            0,
            ...write("latin1", new Map()),
            0x86,
            0x52,
            0x61,
          ),
        ),
        new Map(),
      ),
    ]),
    /same bytes again and again/,
  );

  test("a storage that no tensor uses", () => {
    refused(() => readPickle(opcodes(0x4e), new Map([["7", new Uint8Array(4)]])), /storage "7" unused/);
  });
  test("a storage of another size than it says", () => {
    const storages = new Map<string, Uint8Array>();
    const bytes = pickleOf(write(new Tensor([2], [1, 2]), storages));
    storages.set("0", new Uint8Array(12));
    refused(() => readPickle(bytes, storages), /storage "0" with 2 values F32, wanted 3/);
  });
});

test("a list of two of a list of two … of 2^40 lists is 41 values, read at once", () => {
  const doubled = Array.from({ length: 40 }, (_, index) => [
    "](h",
    index,
    "h",
    index,
    "eq",
    index + 1,
  ]).flat();
  const value = readPickle(opcodes("(]q", 0, ...doubled, "t"), new Map());
  assert.equal((value as PickleTuple).items.length, 41);
});

test("what checkpoints hold is read as plain values", () => {
  const value = read({
    texts: ["a", "", "\ufeffé\u{1f600}", "constructor"],
    numbers: [0, -1, 255, 2 ** 31 - 1, new Float(0.1), new Raw([0x8a, 2, 0x00, 0x80]), new Raw([0x4d, 1, 2])],
    constants: new Tuple([null, true, false]),
    constructor: {},
    scalars: [
      scalar("i8", "\x07\0\0\0\0\0\0\0"),
      scalar("f4", "\0\0\x80?"),
      scalar("i4", "\xff\xff\xff\xff"),
    ],
    bytes: [latin1("\x00\x7f\x80\xff"), latin1("\xe9".repeat(5000)), new Raw([0x43, 2, 1, 2])],
    ordered: new Call(new Named("collections", "OrderedDict"), [], { _metadata: { "": { version: 1 } } }),
  }) as Map<string, unknown>;
  assert.deepEqual(value.get("texts"), ["a", "", "\ufeffé\u{1f600}", "constructor"]);
  assert.deepEqual(value.get("numbers"), [0, -1, 255, 2 ** 31 - 1, 0.1, -32768, 513]);
  assert.deepEqual((value.get("constants") as PickleTuple).items, [null, true, false]);
  assert.deepEqual(value.get("constructor"), new Map());
  assert.deepEqual(value.get("scalars"), [7, 1, -1]);
  assert.deepEqual(value.get("bytes"), [
    Uint8Array.of(0, 127, 128, 255),
    new Uint8Array(5000).fill(0xe9),
    Uint8Array.of(1, 2),
  ]);
  assert.equal((value.get("ordered") as Map<string, unknown>).size, 0);
  assert.deepEqual(Object.keys(Object.prototype), []);
});

test("tensors and arrays are read as checked views", () => {
  const tensor = read(new Tensor([2, 2], [1, 2, 3, 4, 5], { strides: [1, 2], offset: 1 })) as StridedArray;
  assert.ok(tensor instanceof StridedArray);
  assert.deepEqual([tensor.shape, tensor.strides, tensor.data.length], [[2, 2], [1, 2], 16]);
  const array = read(new Numpy([2, 3], [1, 4, 2, 5, 3, 6], { fortran: true })) as NumpyArray;
  assert.ok(array instanceof NumpyArray);
  assert.deepEqual(array.content?.strides, [1, 2]);
  const bag = read(sklearn("decomposition._pca", "PCA", { whiten: false })) as ObjectBag;
  assert.ok(bag instanceof ObjectBag);
  assert.equal(bag.attributes?.get("whiten"), false);
});
