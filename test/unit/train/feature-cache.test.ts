import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openFeatureCache } from "../../../src/train/feature-cache.js";
import { rejection } from "../../support/refusal.js";

const folder = mkdtempSync(join(tmpdir(), "judge-features-"));
after(() => rmSync(folder, { recursive: true }));
const recordBytes = 32 + 4 * 3 + 4;
const entry = (text: string, ...values: number[]) => ({ text, vector: Float32Array.from(values) });

test("what was added is there, in the order that is asked for, and after the file was opened again", async () => {
  const file = join(folder, "new", "a.features");
  const cache = await openFeatureCache(file, 3);
  assert.equal(cache.has("one"), false);
  await cache.add([entry("one", 1, 2, 3), entry("two", 0.1, -5, 1e-30)]);
  await cache.add([entry("three", 7, 8, 9)]);
  for (const opened of [cache, await openFeatureCache(file, 3)]) {
    assert.deepEqual(["one", "two", "three", "four"].map(opened.has), [true, true, true, false]);
    const { rows, columns, data } = await opened.read(["three", "two", "three"]);
    assert.deepEqual([rows, columns], [3, 3]);
    assert.deepEqual(data, Float32Array.of(7, 8, 9, 0.1, -5, 1e-30, 7, 8, 9));
  }
});

test("a half-written last record is taken off, and written anew", async () => {
  const file = join(folder, "torn.features");
  await (await openFeatureCache(file, 3)).add([entry("one", 1, 2, 3), entry("two", 4, 5, 6)]);
  writeFileSync(file, readFileSync(file).subarray(0, 2 * recordBytes - 1));
  const cache = await openFeatureCache(file, 3);
  assert.equal(statSync(file).size, recordBytes);
  assert.deepEqual([cache.has("one"), cache.has("two")], [true, false]);
  await cache.add([entry("two", 4, 5, 6)]);
  assert.deepEqual((await cache.read(["two", "one"])).data, Float32Array.of(4, 5, 6, 1, 2, 3));
});

test("a record whose bytes have changed is encoded again, wherever the change is; the others stay", async () => {
  for (const offset of [0, 31, 32, 43, 44, 47]) {
    const file = join(folder, `flipped-${offset}.features`);
    await (await openFeatureCache(file, 3)).add([entry("one", 1, 2, 3), entry("two", 4, 5, 6)]);
    const bytes = readFileSync(file);
    bytes[recordBytes + offset]! ^= 1;
    writeFileSync(file, bytes);
    const cache = await openFeatureCache(file, 3);
    assert.deepEqual([cache.has("one"), cache.has("two")], [true, false], `byte ${offset}`);
    await cache.add([entry("two", 4, 5, 6)]);
    assert.deepEqual((await cache.read(["two", "one"])).data, Float32Array.of(4, 5, 6, 1, 2, 3));
  }
});

test("records that another process adds meanwhile disturb nothing", async () => {
  const file = join(folder, "shared.features");
  const [mine, other] = [await openFeatureCache(file, 3), await openFeatureCache(file, 3)];
  await other.add([entry("theirs", 9, 9, 9)]);
  await mine.add([entry("mine", 1, 2, 3)]);
  assert.deepEqual((await mine.read(["mine"])).data, Float32Array.of(1, 2, 3));
});

test("refused: a file that lost its records, a folder in its place, a folder that cannot be made", async () => {
  const file = join(folder, "lost.features");
  const cache = await openFeatureCache(file, 3);
  await cache.add([entry("one", 1, 2, 3)]);
  writeFileSync(file, "");
  const lost = await rejection("usage", cache.read(["one"]));
  assert.match(lost.message, /lost\.features has lost records; remove the file, and run again/);
  appendFileSync(join(folder, "plain"), "");
  for (const path of [folder, join(folder, "plain", "b.features")]) {
    const error = await rejection("usage", openFeatureCache(path, 3));
    assert.match(error.message, /cannot be used \(E[A-Z]+\); give --cache a writable folder/);
  }
});
