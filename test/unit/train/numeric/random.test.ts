import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom } from "../../../../src/train/numeric/random.js";
import { assertClose } from "../../../support/train/reference.js";

const draw = (seed: number, count: number) => {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => random.uniform());
};

test("a seed gives its sequence, on every machine", () => {
  assert.deepEqual(draw(42, 3), draw(42, 3));
  assert.deepEqual(
    draw(42, 4).map((value) => value * 2 ** 32),
    [1_849_552_023, 4_223_452_576, 118_919_111, 3_893_884_377],
  );
});

test("neighbouring and far seeds give other sequences", () => {
  const firsts = new Set([0, 1, 2, 3, 2 ** 32, 2 ** 32 + 1, 2 ** 52].map((seed) => draw(seed, 2).join()));
  assert.equal(firsts.size, 7);
});

test("uniform and normal draws have their moments", () => {
  const count = 100_000;
  const random = createRandom(7);
  const uniform = Array.from({ length: count }, () => random.uniform());
  const normal = Array.from({ length: count }, () => random.normal());
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / count;
  assertClose(mean(uniform), 0.5, 0.004);
  assertClose(mean(uniform.map((value) => (value - 0.5) ** 2)), 1 / 12, 0.001);
  assertClose(mean(normal), 0, 0.012);
  assertClose(mean(normal.map((value) => value ** 2)), 1, 0.02);
  assertClose(mean(normal.map((value) => value ** 4)), 3, 0.15);
  assert.ok(uniform.every((value) => value >= 0 && value < 1));
});

test("below draws each number about equally often", () => {
  const random = createRandom(3);
  const counts = new Uint32Array(7);
  for (let index = 0; index < 70_000; index++) counts[random.below(7)]!++;
  for (const count of counts) assertClose(count, 10_000, 400);
});

test("a shuffle keeps every value and puts each anywhere", () => {
  const random = createRandom(5);
  const places = new Uint32Array(5);
  for (let index = 0; index < 5000; index++) {
    const values = Uint32Array.of(0, 1, 2, 3, 4);
    random.shuffle(values);
    assert.deepEqual([...values].sort(), [0, 1, 2, 3, 4]);
    places[values.indexOf(0)]!++;
  }
  for (const count of places) assertClose(count, 1000, 130);
});
