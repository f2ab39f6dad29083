// Room for large bodies: how much there is, who waits, and in which order.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { JudgeError } from "../../../../src/errors.js";
import { createBodyBudget } from "../../../../src/http/body/budget.js";

const megabyte = 2 ** 20;

function budgetOf(maxBytes: number, refuses = false) {
  const seen = { waits: 0, quiets: 0 };
  const budget = createBodyBudget({
    maxBytes,
    refuses,
    onWait: () => seen.waits++,
    onQuiet: () => seen.quiets++,
  });
  const order: string[] = [];
  const take = (name: string, bytes: number) => {
    const place = budget.take(bytes);
    void place.room.then(() => order.push(name));
    return place;
  };
  return { seen, order, take };
}

test("bodies enter while there is room, the others in the order of their coming", async () => {
  const { seen, order, take } = budgetOf(100);
  const first = take("first", 60);
  const second = take("second", 30);
  take("third", 50);
  take("fourth", 5);
  await turn();
  assert.deepEqual(order, ["first", "second"]);
  assert.equal(seen.waits, 2, "the small fourth does not pass the third");
  second.release();
  await turn();
  assert.deepEqual(order, ["first", "second"]);
  first.release();
  await turn();
  assert.deepEqual(order, ["first", "second", "third", "fourth"]);
});

test("whoever leaves while it waits makes way for those behind, and gives back nothing it did not have", async () => {
  const { order, take } = budgetOf(100);
  take("first", 80);
  const second = take("second", 90);
  take("third", 20);
  second.release();
  second.release();
  await turn();
  assert.deepEqual(order, ["first", "third"]);
  take("fourth", 1);
  await turn();
  assert.deepEqual(order, ["first", "third"], "100 of 100 are taken");
});

test("a place that is given back twice is given back once", async () => {
  const { order, take } = budgetOf(100);
  const first = take("first", 60);
  take("second", 40);
  first.release();
  first.release();
  take("third", 60);
  take("fourth", 1);
  await turn();
  assert.deepEqual(order, ["first", "second", "third"]);
});

test("one that is larger than all the room there is enters alone", async () => {
  const { order, take } = budgetOf(100);
  const first = take("first", 500);
  take("second", 1);
  await turn();
  assert.deepEqual(order, ["first"]);
  first.release();
  await turn();
  assert.deepEqual(order, ["first", "second"]);
});

test("where bodies are refused, only those that find no room are", () => {
  const { seen, take } = budgetOf(100, true);
  take("first", 60);
  assert.throws(
    () => take("second", 60),
    ({ code }: JudgeError) => code === "overloaded",
  );
  take("third", 40);
  assert.equal(seen.waits, 1);
});

describe("quiet is told", () => {
  test("once the last of many bytes has left", () => {
    const { seen, take } = budgetOf(128 * megabyte);
    const places = [take("first", 40 * megabyte), take("second", 40 * megabyte)];
    places[0]!.release();
    assert.equal(seen.quiets, 0);
    places[1]!.release();
    assert.equal(seen.quiets, 1);
    take("third", 40 * megabyte).release();
    assert.equal(seen.quiets, 1, "the count starts anew");
  });

  test("not after a few bytes, nor for a body that never entered", () => {
    const { seen, take } = budgetOf(100);
    const first = take("first", 100);
    take("second", 100 * megabyte).release();
    first.release();
    assert.equal(seen.quiets, 0);
  });
});
