// A work that takes too long is told of; the time in which this process itself was paused does not count.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createWatchdog } from "../../../../src/encoder/onnx/watchdog.js";
import { block, until } from "../../../support/onnx/supervised.js";

test("a work of so long is late, once; one that ends in time is not", async () => {
  let late = 0;
  const watchdog = createWatchdog(() => late++);
  watchdog.watch(60);
  watchdog.rest();
  await sleep(150);
  assert.equal(late, 0);
  watchdog.watch(60);
  await until(() => late === 1);
  await sleep(150);
  assert.equal(late, 1);
});

test("a pause of this process counts as one look, however long it was", async () => {
  let late = false;
  const watchdog = createWatchdog(() => {
    late = true;
  });
  watchdog.watch(400);
  block(1200);
  await sleep(1);
  assert.equal(late, false);
  await until(() => late);
});
