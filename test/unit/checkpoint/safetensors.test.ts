// The safetensors reader as a security boundary, tests named by attack, and the writer against Python's own
// files (test/fixtures/safetensors, made once with Python's safetensors 0.8.0; expected.json holds numpy's
// float32 values).
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  fromFloat32,
  parseSafetensors,
  serializeSafetensors,
  type Tensor,
  toFloat32,
} from "../../../src/checkpoint/safetensors.js";
import { JudgeError } from "../../../src/errors.js";

const fixtures = new URL("../../../../test/fixtures/", import.meta.url);
const readFixture = (path: string) => readFileSync(new URL(path, fixtures));

/** A file with this header and `dataSize` zero bytes behind it. */
function fileOf(header: string | Uint8Array, dataSize = 0): Uint8Array {
  const text = typeof header === "string" ? new TextEncoder().encode(header) : header;
  const bytes = new Uint8Array(8 + text.length + dataSize);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

const entry = (shape: string, offsets: string, dtype = '"F32"') =>
  `{"dtype":${dtype},"shape":${shape},"data_offsets":${offsets}}`;
const GOOD = entry("[1]", "[0,4]");

/**
 * The refusal's message; fails for any other error, for none, and for a message of more than one short line.
 */
function refusalOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof JudgeError, String(error));
    assert.equal(error.code, "checkpoint");
    assert.match(error.message, /^safetensors: .*wanted .+/);
    assert.doesNotMatch(error.message, /[\p{Cc}\p{Zl}\p{Zp}]/u);
    assert.ok(error.message.length < 250, error.message);
    return error.message;
  }
  assert.fail("nothing was refused");
}

const HOSTILE: Record<string, RegExp> = {
  "duplicate-key": /header has the key "a" twice/,
  "header-too-long": /header length of 1099511627776, wanted at most 100000000/,
  hole: /begins at byte 4, wanted 0: a hole/,
  "huge-shape": /shape "\[4294967296,4294967296\]", wanted one of less than 2\^53 bytes/,
  "negative-shape": /shape holds "-1", wanted integers from 0/,
  overlap: /"b" begins at byte 4, wanted 8: an overlap/,
  "past-end": /"a" ends at byte 16, wanted at most 8/,
  "proto-key": /key "__proto__"/,
  "shape-mismatch": /data_offsets 0 to 16, wanted 12 bytes/,
};

const good = `"a":${GOOD}`;
const ATTACKS: [attack: string, bytes: Uint8Array, message: RegExp][] = [
  ["an empty file", new Uint8Array(0), /a file of 0 bytes/],
  ["a file of 7 bytes", new Uint8Array(7), /a file of 7 bytes/],
  ["an empty header", fileOf(""), /without its first \{/],
  ["a header of length 0 before a {", Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0x7b), /without its first \{/],
  ["a header longer than the file", fileOf("{}").fill(3, 0, 1), /header length of 3, wanted at most the 2/],
  ["a header length of 2^64 - 1", new Uint8Array(64).fill(255), /18446744073709551615/],
  ["a header length that overflows 32 bits", fileOf("{}").fill(1, 4, 5), /4294967298/],
  ["white space before the {", fileOf(` {${good}}`, 4), /without its first \{/],
  ["a byte order mark", fileOf(`\ufeff{${good}}`, 4), /without its first \{/],
  ["a list for a header", fileOf("[]"), /without its first \{/],
  ["a header that is not UTF-8", fileOf(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)), /not UTF-8/],
  ["an unclosed header", fileOf("{"), /header: found its end at character 1/],
  ["an unclosed name", fileOf('{"a'), /string that is not valid JSON/],
  ["a name that ends in a backslash", fileOf('{"a\\'), /string that is not valid JSON/],
  ["a raw line break in a name", fileOf('{"a\n":1}'), /string that is not valid JSON/],
  ["half a surrogate pair in a name", fileOf(`{"\\ud800":${GOOD}}`, 4), /half a surrogate pair/],
  ["a second value after the header", fileOf(`{${good}}{}`, 4), /wanted nothing but spaces/],
  ["NUL padding after the header", fileOf(`{${good}}\0`, 4), /wanted nothing but spaces/],
  [
    "a comma before the }",
    fileOf(`{${good},}`, 4),
    /found "}" at character \d+ of the header, wanted a string/,
  ],
  ["a name without a value", fileOf('{"a"}'), /wanted :/],
  [
    "an escaped spelling of the same name",
    fileOf(`{${good},"\\u0061":${entry("[1]", "[4,8]")}}`, 8),
    /"a" twice/,
  ],
  ["a key twice in an entry", fileOf(`{"a":{"dtype":"F16",${GOOD.slice(1)}}`, 4), /"dtype" twice/],
  ["a key twice in __metadata__", fileOf('{"__metadata__":{"a":"1","a":"2"}}'), /"a" twice/],
  ["__metadata__ twice", fileOf('{"__metadata__":{},"__metadata__":{}}'), /"__metadata__" twice/],
  ["__proto__, escaped", fileOf(`{"__pr\\u006fto__":${GOOD}}`, 4), /"__proto__"/],
  ["__proto__ in __metadata__", fileOf('{"__metadata__":{"__proto__":"x"}}'), /"__proto__"/],
  ["__proto__ in an entry", fileOf('{"a":{"__proto__":{"dtype":"F32"}}}'), /"__proto__"/],
  [
    "a number in __metadata__",
    fileOf('{"__metadata__":{"a":1}}'),
    /__metadata__: found "1" .* wanted a string/,
  ],
  ["an object in __metadata__", fileOf('{"__metadata__":{"a":{}}}'), /wanted a string/],
  ["null for __metadata__", fileOf('{"__metadata__":null}'), /__metadata__: found "n" .* wanted \{/],
  ["an unknown key in an entry", fileOf(`{"a":{"x":0,${GOOD.slice(1)}}`, 4), /unknown key "x"/],
  ["an entry without dtype", fileOf('{"a":{"shape":[],"data_offsets":[0,4]}}', 4), /lacks a key/],
  ["a number for an entry", fileOf('{"a":1}'), /tensor "a": found "1" .* wanted \{/],
  ["a list for an entry", fileOf('{"a":["F32",[1],[0,4]]}', 4), /wanted \{/],
  [
    "an unknown dtype",
    fileOf(`{"a":${entry("[1]", "[0,4]", '"I32"')}}`, 4),
    /dtype "I32", wanted one of I64, F64/,
  ],
  [
    "a dtype named after Object's own",
    fileOf(`{"a":${entry("[]", "[0,4]", '"constructor"')}}`, 4),
    /dtype "constr/,
  ],
  ["a number for dtype", fileOf(`{"a":${entry("[1]", "[0,4]", "1")}}`, 4), /wanted a string/],
  ["a fraction in a shape", fileOf(`{"a":${entry("[0.5,2]", "[0,4]")}}`, 4), /shape holds "0\.5"/],
  ["1.0 in a shape", fileOf(`{"a":${entry("[1.0]", "[0,4]")}}`, 4), /shape holds "1\.0"/],
  ["1e0 in a shape", fileOf(`{"a":${entry("[1e0]", "[0,4]")}}`, 4), /shape holds "1e0"/],
  ["-0 in a shape", fileOf(`{"a":${entry("[-0]", "[0,0]")}}`), /shape holds "-0"/],
  ["01 in a shape", fileOf(`{"a":${entry("[01]", "[0,4]")}}`, 4), /shape holds "01"/],
  ["null in a shape", fileOf(`{"a":${entry("[null]", "[0,4]")}}`, 4), /shape holds "null"/],
  ["a string in a shape", fileOf(`{"a":${entry('["1"]', "[0,4]")}}`, 4), /wanted an integer/],
  ["a list in a shape", fileOf(`{"a":${entry("[[1]]", "[0,4]")}}`, 4), /wanted an integer/],
  ["2^53 + 1 in a shape", fileOf(`{"a":${entry("[9007199254740993]", "[0,4]")}}`, 4), /"9007199254740993"/],
  ["a product beyond 2^53", fileOf(`{"a":${entry("[94906267,94906267]", "[0,4]")}}`, 4), /less than 2\^53/],
  ["an overflow hidden by a 0", fileOf(`{"a":${entry("[4294967296,4294967296,0]", "[0,0]")}}`), /2\^53/],
  ["one offset", fileOf(`{"a":${entry("[1]", "[0]")}}`, 4), /has 1 data_offsets, wanted 2/],
  ["three offsets", fileOf(`{"a":${entry("[1]", "[0,4,4]")}}`, 4), /has 3 data_offsets, wanted 2/],
  ["offsets that go backwards", fileOf(`{"a":${entry("[1]", "[4,0]")}}`, 4), /4 to 0, wanted 4 bytes/],
  ["a negative offset", fileOf(`{"a":${entry("[1]", "[-4,0]")}}`, 4), /data_offsets holds "-4"/],
  [
    "unsafe offsets",
    fileOf(`{"a":${entry("[1]", "[9007199254740992,9007199254740996]")}}`, 4),
    /"9007199254740992"/,
  ],
  ["offsets for another dtype", fileOf(`{"a":${entry("[1]", "[0,4]", '"F64"')}}`, 4), /wanted 8 bytes/],
  ["the same bytes twice", fileOf(`{${good},"b":${GOOD}}`, 4), /an overlap/],
  [
    "a hole between tensors",
    fileOf(`{${good},"b":${entry("[1]", "[5,9]")}}`, 9),
    /begins at byte 5, wanted 4: a hole/,
  ],
  ["an empty tensor inside another", fileOf(`{${good},"b":${entry("[0]", "[2,2]")}}`, 4), /an overlap/],
  ["an empty tensor past the end", fileOf(`{${good},"b":${entry("[0]", "[9,9]")}}`, 4), /a hole/],
  ["trailing bytes", fileOf(`{${good}}`, 5), /found 1 trailing bytes/],
  ["trailing bytes without tensors", fileOf("{}", 3), /found 3 trailing bytes/],
];

describe("safetensors refuses", () => {
  const files = readdirSync(new URL("checkpoints/hostile/", fixtures)).filter((file) =>
    file.endsWith(".safetensors"),
  );
  test("every hostile file has its message here", () => {
    assert.deepEqual(
      files.sort(),
      Object.keys(HOSTILE)
        .map((name) => `${name}.safetensors`)
        .sort(),
    );
  });
  for (const [name, message] of Object.entries(HOSTILE)) {
    test(`hostile/${name}`, () => {
      const bytes = readFixture(`checkpoints/hostile/${name}.safetensors`);
      assert.match(
        refusalOf(() => parseSafetensors(bytes)),
        message,
      );
    });
  }
  for (const [attack, bytes, message] of ATTACKS) {
    test(attack, () =>
      assert.match(
        refusalOf(() => parseSafetensors(bytes)),
        message,
      ),
    );
  }

  test("a name with control characters and 10,000 letters, shown cut and on one line", () => {
    const name = `x\\n\\u001b[31m\\u2028${"y".repeat(10_000)}`;
    const message = refusalOf(() => parseSafetensors(fileOf(`{"${name}":${entry("[2]", "[0,4]")}}`, 4)));
    assert.match(message, /tensor "x\[31my{72}" has/);
  });

  test("so many keys in __metadata__ that V8 would stall on the object", () => {
    const members = Array.from({ length: 100_001 }, (_, i) => `"${i}":""`);
    const bytes = fileOf(`{"__metadata__":{${members}}}`);
    assert.match(
      refusalOf(() => parseSafetensors(bytes)),
      /__metadata__ has more than 100000 keys/,
    );
  });

  test("deep nesting, wide nesting and endless escapes at once, without a stack or a heap for them", () => {
    const size = 5_000_000;
    for (const header of [
      '{"a":'.repeat(size / 5),
      `{"a":[${"[],".repeat(size / 3)}`,
      `{"${"\\n".repeat(size / 2)}`,
    ]) {
      refusalOf(() => parseSafetensors(fileOf(header)));
    }
  });
});

function int64Of({ data }: Tensor): BigInt64Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return new BigInt64Array(data.byteLength / 8).map((_, index) => view.getBigInt64(8 * index, true));
}

interface Expected {
  metadata: Record<string, string>;
  tensors: Record<string, { dtype: Tensor["dtype"]; shape: number[]; values: (number | string)[] }>;
}

describe("safetensors reads and writes as Python does", () => {
  const expected: Record<string, Expected> = JSON.parse(readFixture("safetensors/expected.json").toString());
  for (const [name, { metadata, tensors }] of Object.entries(expected)) {
    test(`reads ${name}.safetensors`, () => {
      const file = parseSafetensors(readFixture(`safetensors/${name}.safetensors`));
      assert.deepEqual({ ...file.metadata }, metadata);
      assert.deepEqual([...file.tensors.keys()].sort(), Object.keys(tensors).sort());
      for (const [key, { dtype, shape, values }] of Object.entries(tensors)) {
        const tensor = file.tensors.get(key)!;
        assert.deepEqual([tensor.dtype, tensor.shape], [dtype, shape]);
        const read = dtype === "I64" ? [...int64Of(tensor)] : [...toFloat32(tensor)];
        // Object.is tells 0 from -0, which the JSON keeps as a string
        assert.deepEqual(
          read,
          values.map((value) => (dtype === "I64" ? BigInt(value) : Number(value))),
          key,
        );
      }
    });
    if (name === "unaligned") continue; // Python's writer pads the header, so it makes no such file
    test(`writes ${name}.safetensors byte for byte, from any order`, () => {
      const bytes = readFixture(`safetensors/${name}.safetensors`);
      const file = parseSafetensors(bytes);
      const reversed = Object.fromEntries(Object.entries(file.metadata).reverse());
      assert.deepEqual(serializeSafetensors([...file.tensors].reverse(), reversed), new Uint8Array(bytes));
    });
  }

  test("reads router-json-v1/router.safetensors, at any byteOffset, as views", () => {
    const bytes = readFixture("checkpoints/router-json-v1/router.safetensors");
    const shifted = Buffer.concat([Buffer.alloc(3, 255), bytes, Buffer.alloc(5, 255)]).subarray(3, -5);
    const file = parseSafetensors(shifted);
    assert.equal(file.tensors.size, 34);
    assert.deepEqual(file.tensors.get("transform.pca_components")?.shape, [10, 96]);
    for (const [name, tensor] of file.tensors) {
      assert.equal(tensor.data.buffer, shifted.buffer);
      assert.equal(Object.getPrototypeOf(tensor.data), Uint8Array.prototype);
      assert.ok(toFloat32(tensor).every(Number.isFinite), name);
    }
    assert.deepEqual(
      parseSafetensors(serializeSafetensors(file.tensors)).tensors,
      parseSafetensors(bytes).tensors,
    );
  });

  test("reads every F16 and BF16 as bit arithmetic on float32 says", () => {
    const halves = Uint16Array.from({ length: 65_536 }, (_, i) => i);
    const data = new Uint8Array(new Uint16Array(halves).buffer);
    const [half, brain] = (["F16", "BF16"] as const).map((dtype) =>
      toFloat32({ dtype, shape: [65_536], data }),
    );
    const bits = new Uint32Array(1);
    const float = new Float32Array(bits.buffer);
    for (const i of halves) {
      bits[0] = i << 16;
      assert.ok(Object.is(brain![i], float[0]), `BF16 ${i}`);
      // exponent and fraction moved into float32's place, then the bias corrected; exact for subnormals too
      bits[0] = (i & 0x7fff) << 13;
      const magnitude =
        (i & 0x7c00) < 0x7c00 ? float[0]! * 2 ** 112 : i & 0x3ff ? Number.NaN : Number.POSITIVE_INFINITY;
      assert.ok(Object.is(half![i], i & 0x8000 ? -magnitude : magnitude), `F16 ${i}`);
    }
  });

  test("keeps the bits of every F32, NaN payloads included", () => {
    const bits = Uint32Array.of(0x7f800001, 0xffc12345, 0x00000001, 0x80000000);
    const tensor = fromFloat32(new Float32Array(bits.buffer), [2, 2]);
    assert.deepEqual(new Uint32Array(toFloat32(tensor).buffer), bits);
    assert.deepEqual(new Uint32Array(new Uint8Array(tensor.data).buffer), bits);
  });

  test("allows spaces after the header, and a name that Object has", () => {
    const file = parseSafetensors(fileOf(`{"constructor":${GOOD},"__metadata__":{"toString":"x"}}  `, 4));
    assert.deepEqual([...file.tensors.keys()], ["constructor"]);
    assert.deepEqual(Object.entries(file.metadata), [["toString", "x"]]);
    assert.equal(file.metadata.constructor, undefined);
    assert.equal(file.metadata.hasOwnProperty, undefined);
  });
});

describe("safetensors does not write", () => {
  const one = fromFloat32(Float32Array.of(1), [1]);
  const attempts: [what: string, write: () => unknown, message: RegExp][] = [
    [
      "a name twice",
      () =>
        serializeSafetensors([
          ["a", one],
          ["a", one],
        ]),
      /"a" twice/,
    ],
    ["a tensor named __metadata__", () => serializeSafetensors([["__metadata__", one]]), /wanted a string/],
    ["a tensor named __proto__", () => serializeSafetensors([["__proto__", one]]), /"__proto__"/],
    ["half a surrogate pair", () => serializeSafetensors([["\ud800", one]]), /surrogate/],
    [
      "data that do not fill the shape",
      () => serializeSafetensors([["a", { ...one, shape: [2] }]]),
      /wanted 8 bytes/,
    ],
    ["a fraction", () => serializeSafetensors([["a", { ...one, shape: [0.5, 2] }]]), /"0\.5"/],
    ["values that do not fill the shape", () => fromFloat32(Float32Array.of(1, 2), [3]), /found 2 values/],
    ["a negative shape", () => fromFloat32(Float32Array.of(1, 2), [-1, -2]), /found 2 values/],
    [
      "an I64 as float32",
      () => toFloat32({ dtype: "I64", shape: [0], data: new Uint8Array(0) }),
      /dtype I64/,
    ],
  ];
  for (const [what, write, message] of attempts) test(what, () => assert.match(refusalOf(write), message));
});

const SIZES = { F32: 4, F16: 2, BF16: 2, F64: 8, I64: 8 } as const;
const tensorArbitrary = fc
  .tuple(fc.constantFrom(...(Object.keys(SIZES) as Tensor["dtype"][])), fc.array(fc.nat(4), { maxLength: 3 }))
  .chain(([dtype, shape]): fc.Arbitrary<Tensor> => {
    const length = shape.reduce((product, size) => product * size, SIZES[dtype]);
    return fc.uint8Array({ minLength: length, maxLength: length }).map((data) => ({ dtype, shape, data }));
  });
const nameArbitrary = fc
  .string({ unit: "binary", maxLength: 12 })
  .filter((name) => name !== "__proto__" && name !== "__metadata__");
const fileArbitrary = fc.tuple(
  fc.uniqueArray(fc.tuple(nameArbitrary, tensorArbitrary), { maxLength: 6, selector: ([name]) => name }),
  fc.dictionary(nameArbitrary, fc.string({ unit: "binary" }), { maxKeys: 4 }),
);

describe("safetensors under random input", () => {
  test("what was written is read back, and written again the same", () => {
    fc.assert(
      fc.property(fileArbitrary, ([tensors, metadata]) => {
        const bytes = serializeSafetensors(tensors, metadata);
        const file = parseSafetensors(bytes);
        assert.deepEqual(file.tensors, new Map(tensors));
        assert.deepEqual({ ...file.metadata }, { ...metadata });
        assert.deepEqual(serializeSafetensors([...file.tensors].reverse(), file.metadata), bytes);
      }),
      { numRuns: 500 },
    );
  });

  test("damaged files are refused or read, and nothing else happens", (t) => {
    const good = new Uint8Array(readFixture("safetensors/shapes.safetensors"));
    const counts = { refused: 0, read: 0 };
    const attempt = (bytes: Uint8Array) => {
      try {
        for (const tensor of parseSafetensors(bytes).tensors.values()) {
          if (tensor.dtype !== "I64") toFloat32(tensor);
        }
        counts.read++;
      } catch (error) {
        assert.ok(error instanceof JudgeError && error.code === "checkpoint", String(error));
        counts.refused++;
      }
    };
    for (let bit = 0; bit < good.length * 8; bit++) {
      attempt(good.with(bit >> 3, good[bit >> 3]! ^ (1 << (bit & 7))));
    }
    t.diagnostic(`every single bit flipped: ${JSON.stringify(counts)}`);
    for (let length = 0; length < good.length; length++) {
      const before = counts.read;
      attempt(good.subarray(0, length));
      assert.equal(counts.read, before, `the first ${length} bytes were read as a whole file`);
    }
    t.diagnostic(`and every truncation: ${JSON.stringify(counts)}`);
    const edits = fc.array(
      fc.tuple(fc.nat(good.length - 1), fc.constantFrom(...Buffer.from('{}[]":,\\0-9eF \xff\0'))),
      {
        minLength: 1,
        maxLength: 8,
      },
    );
    fc.assert(
      fc.property(edits, (changes) => {
        const bytes = new Uint8Array(good);
        for (const [place, byte] of changes) bytes[place] = byte;
        attempt(bytes);
      }),
      { numRuns: 5_000 },
    );
    t.diagnostic(`and 5000 files with random edits: ${JSON.stringify(counts)}`);
  });
});
