// The reader of torch's zip files as a security boundary, with tests named by attack.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import { parseTorchZip } from "../../../../../src/checkpoint/torch/zip/torch-zip.js";
import { fixturePath } from "../../../../support/fixtures.js";
import { refusal } from "../../../../support/refusal.js";
import { packed, text, type ZipEnd, type ZipPart, zipOf } from "../../../../support/torch/zip-builder.js";

const pickle: ZipPart = { name: "a/data.pkl", data: text("pickle") };
const order: ZipPart = { name: "a/byteorder", data: text("little") };
const storage: ZipPart = { name: "a/data/0", data: text("numbers!") };
const version: ZipPart = { name: "a/version", data: text("3\n") };
const good = [pickle, order, storage, version];

/** The good file with its storage changed. */
const withStorage = (change: Partial<ZipPart>, end?: ZipEnd) =>
  zipOf([pickle, order, { ...storage, ...change }, version], end);
const named = (name: string | Uint8Array) => withStorage({ name });

const attacks: readonly (readonly [attack: string, bytes: Uint8Array, message: RegExp])[] = [
  ["an empty file", new Uint8Array(0), /no end record/],
  ["a file of 21 bytes", new Uint8Array(21), /no end record/],
  ["a pickle without a zip", text(`\x80\x02}${" ".repeat(40)}`), /no end record.* before 1\.6/],
  ["an end record alone", zipOf([], { zip64: "none" }), /entry ""/],
  ["a file cut by one byte", zipOf(good).subarray(0, -1), /no end record/],
  ["a byte behind the end", Buffer.concat([zipOf(good), text("x")]), /no end record/],
  ["a byte before the first entry", Buffer.concat([text("x"), zipOf(good)]), /directory from|do not agree/],
  ["a comment", zipOf(good, { comment: "hello", zip64: "none" }), /no end record/],
  ["more entries than there are", zipOf(good, { count: 5 }), /no entry at byte/],
  ["fewer entries than there are", zipOf(good, { count: 3 }), /directory of \d+ bytes, wanted the/],
  ["65,535 entries", zipOf(good, { count: 65535, zip64: "none" }), /65535 entries, wanted at most 10000/],
  ["a directory before the file", zipOf(good, { begin: 0xffffffff, zip64: "none" }), /directory from/],
  ["a directory longer than it is", zipOf(good, { size: 9999, zip64: "none" }), /directory from/],
  ["a zip64 end record of another count", zipOf(good, { zip64: "other count" }), /two end records/],
  ["a zip64 end record elsewhere", zipOf(good, { zip64: "other place" }), /two end records/],
  ["an encrypted entry", withStorage({ both: { flags: 1 } }), /encrypted, wanted it plain/],
  ["an unknown flag", withStorage({ both: { flags: 0x2000 } }), /flags 8192/],
  ["a compressed entry", withStorage({ both: { method: 8 } }), /compressed, wanted it stored/],
  ["two sizes of one entry", withStorage({ central: { compressedSize: 1 } }), /compressed/],
  ["a comment of an entry", withStorage({ central: { commentLength: 1 } }), /comment/],
  ["an entry in another part", withStorage({ central: { disk: 1 } }), /part number/],
  ["a name of 600 bytes", named(`a/data/${"1".repeat(600)}`), /name of 607 bytes/],
  ["a name that is not UTF-8", named(Uint8Array.of(0x61, 0x2f, 0xff)), /not UTF-8/],
  ["a path out of the folder", named("../data/0"), /"\.\.\/data\/0", wanted NAME/],
  ["a path with .. inside", named("a/../data/0"), /wanted NAME/],
  ["an absolute path", named("/data/0"), /wanted NAME/],
  ["a folder of its own", named("a/data/"), /wanted NAME/],
  ["a back slash", named("a\\data/0"), /wanted NAME/],
  ["a line break in a name", named("a/data/0\n"), /wanted NAME/],
  ["a storage key that is no number", named("a/data/weights"), /wanted NAME/],
  ["a storage key of two spellings", named("a/data/00"), /wanted NAME/],
  ["code beside the tensors", named("a/code/__torch__.py"), /wanted NAME/],
  ["entries of two folders", named("b/data/0"), /folders "a" and "b"/],
  ["the same name twice", zipOf([pickle, order, storage, storage, version]), /"a\/data\/0" twice/],
  ["two pickles", zipOf([pickle, order, pickle, version]), /"a\/data\.pkl" twice/],
  ["no pickle", zipOf([order, storage, version]), /no entry data\.pkl/],
  ["no version", zipOf([pickle, order]), /version "", wanted 3/],
  ["another version", zipOf([pickle, { ...version, data: text("4\n") }]), /version "4", wanted 3/],
  ["big-endian numbers", zipOf([pickle, { ...order, data: text("big") }, version]), /byte order "big"/],
  [
    "a wrong CRC-32",
    withStorage({ both: { crc: 1 }, behind: packed([4, 0x08074b50], [4, 1], [4, 8], [4, 8]) }),
    /CRC-32/,
  ],
  ["headers of two CRC-32s", withStorage({ both: { flags: 0 }, local: { crc: 1 } }), /two headers/],
  ["headers of two sizes", withStorage({ both: { flags: 0 }, local: { size: 1 } }), /two headers/],
  ["headers of two names", withStorage({ local: { name: "a/data/1" } }), /two headers/],
  ["headers of names of two lengths", withStorage({ local: { name: "a/data/01" } }), /two headers/],
  ["headers of two methods", withStorage({ local: { method: 8 } }), /two headers/],
  ["headers of two flags", withStorage({ local: { flags: 0x0800 } }), /two headers/],
  [
    "a header of size 0 without a flag",
    withStorage({ both: { flags: 0 }, local: { size: 0, compressedSize: 0, crc: 0 } }),
    /two headers/,
  ],
  [
    "a hole behind an entry",
    withStorage({ both: { flags: 0 }, behind: text("x") }),
    /1 bytes behind.*a hole/,
  ],
  ["a descriptor too short", withStorage({ behind: text("PK") }), /2 bytes behind/],
  [
    "a descriptor of another size",
    withStorage({ behind: packed([4, 0x08074b50], [4, 0], [4, 8], [4, 9]) }),
    /two sizes/,
  ],
  [
    "an entry longer than its place",
    withStorage({ both: { size: 999, compressedSize: 999 } }),
    /past its end/,
  ],
  [
    "an entry of 4 GiB",
    withStorage({ both: { size: 0xffffffff, compressedSize: 0xffffffff } }),
    /past its end/,
  ],
  [
    "an entry in another",
    withStorage({ central: { begin: 0 } }),
    /no header|in the directory|past its end|behind/,
  ],
  ["an entry behind the file", withStorage({ central: { begin: 0xfffffff0 } }), /in the directory/],
  [
    "an entry in the directory",
    zipOf([pickle, order, version, { ...storage, central: { begin: 400 } }]),
    /directory|past|behind|hole/,
  ],
];

describe("a zip file that torch does not write is refused:", () => {
  for (const [attack, bytes, message] of attacks) {
    test(attack, () => {
      const error = refusal("checkpoint", () => parseTorchZip(bytes));
      assert.match(error.message, message);
      assert.match(error.message, /^torch zip: found .*; /);
      assert.ok(error.message.length < 250, error.message);
    });
  }
});

for (const [kind, bytes] of [
  ["with zip64 end record and descriptors, as torch writes", zipOf(good)],
  ["without zip64 end record", zipOf(good, { zip64: "none" })],
  ["without descriptors", zipOf(good.map((part) => ({ ...part, both: { flags: 0 } })))],
  [
    "with descriptors of 64-bit sizes",
    withStorage({ behind: packed([4, 0x08074b50], [4, crc32("numbers!")], [8, 8], [8, 8]) }),
  ],
  ["of torch before 2.1, without a byte order", zipOf([pickle, storage, version])],
] as const) {
  test(`a file ${kind} is read`, () => {
    const zip = parseTorchZip(bytes);
    assert.deepEqual(zip.pickle, new Uint8Array(text("pickle")));
    assert.deepEqual([...zip.storages], [["0", new Uint8Array(text("numbers!"))]]);
  });
}

test("a view into a larger buffer is read as the file it is", () => {
  const file = readFileSync(fixturePath("checkpoints/llm-router/v2-one-target.pt"));
  const larger = new Uint8Array(file.length + 100).fill(7);
  larger.set(file, 33);
  const [direct, inside] = [file, larger.subarray(33, 33 + file.length)].map(parseTorchZip);
  assert.deepEqual(inside!.storages, direct!.storages);
  assert.equal(direct!.storages.size, 30);
});
