import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { inBulk } from "../../../src/cli/in-bulk.js";

test("every text is in one batch, with its place; like lengths are together; two batches are asked for at a time", async () => {
  const texts = Array.from({ length: 1024 }, (_, index) => "x".repeat((index * 7919) % 97));
  const seen: number[] = [];
  let [running, most] = [0, 0];
  await inBulk(texts, 1, async (batch, places) => {
    running++;
    most = Math.max(most, running);
    assert.ok(batch.length <= 32);
    assert.deepEqual(
      batch,
      places.map((place) => texts[place]),
    );
    const lengths = batch.map((text) => text.length);
    assert.ok(
      Math.max(...lengths) - Math.min(...lengths) <= 12,
      `${Math.min(...lengths)} to ${Math.max(...lengths)}`,
    );
    seen.push(...places);
    await turn();
    running--;
  });
  assert.equal(most, 2);
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    texts.map((_, index) => index),
  );
});

test("the first error ends it, after what is under way", async () => {
  const texts = Array.from({ length: 320 }, (_, index) => `${index}`);
  let calls = 0;
  await assert.rejects(
    inBulk(texts, 1, async () => {
      calls++;
      await turn();
      throw new Error("broken");
    }),
    /broken/,
  );
  assert.equal(calls, 2);
});

test("nothing is nothing", async () => {
  await inBulk([], 1, () => assert.fail("called"));
});
