// When answers go out that are ready in the same turn of the event loop.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { turnEnd } from "../../../src/http/turn-end.js";

test("the end of a turn comes after what has arrived, and before immediates set since it was first asked for", async () => {
  const order: string[] = [];
  void Promise.resolve().then(() => order.push("another request"));
  const first = turnEnd().then(() => order.push("first answer"));
  setImmediate(() => order.push("first log line"));
  const second = turnEnd().then(() => order.push("second answer"));
  setImmediate(() => order.push("second log line"));
  await Promise.all([first, second, turn()]);
  assert.deepEqual(order, [
    "another request",
    "first answer",
    "second answer",
    "first log line",
    "second log line",
  ]);
});

test("a turn has one end, and the next turn another", async () => {
  const first = turnEnd();
  assert.equal(turnEnd(), first);
  await first;
  assert.notEqual(turnEnd(), first);
});
