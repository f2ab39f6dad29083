import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { abortable, withTimeout } from "../../src/abort.js";
import { JudgeError } from "../../src/errors.js";
import { rejection } from "../support/refusal.js";

/** Work that ends when it is told to, with the signal's reason. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
const late = () => new JudgeError("deadline", { found: "too late" });
const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

test("work that is in time gives its result and leaves no timer", async () => {
  const before = timers();
  let seen: AbortSignal | undefined;
  const result = await withTimeout(60_000, late, undefined, async (signal) => {
    seen = signal;
    return 7;
  });
  assert.equal(result, 7);
  assert.equal(seen?.aborted, false);
  assert.equal(timers(), before);
});

test("work that is late is told so, and not before its time", async () => {
  const started = performance.now();
  const { message } = await rejection("deadline", withTimeout(30, late, undefined, untilAborted));
  assert.equal(message, "too late");
  assert.ok(performance.now() - started >= 29);
});

test("work's own error comes through, and the timer is cleared", async () => {
  const before = timers();
  const failed = withTimeout(60_000, late, undefined, async () => {
    throw new JudgeError("encoder_down", { found: "down" });
  });
  await rejection("encoder_down", failed);
  assert.equal(timers(), before);
});

test("the outer signal ends the work with its own reason", async () => {
  const outer = new AbortController();
  const working = withTimeout(2000, late, outer.signal, untilAborted);
  await wait(5);
  outer.abort(new JudgeError("client_gone", { found: "left" }));
  await rejection("client_gone", working);
});

test("an outer signal that has already aborted ends it at once", async () => {
  const left = AbortSignal.abort(new JudgeError("client_gone", { found: "left" }));
  await rejection("client_gone", withTimeout(2000, late, left, untilAborted));
});

test("after the work the outer signal moves nothing any more", async () => {
  const outer = new AbortController();
  let seen: AbortSignal | undefined;
  await withTimeout(60_000, late, outer.signal, async (signal) => {
    seen = signal;
  });
  outer.abort();
  assert.equal(seen?.aborted, false);
});

test("work that knows no signal is left when it aborts, whatever it comes to; else it gives its result", async () => {
  assert.equal(await abortable(Promise.resolve(7), new AbortController().signal), 7);
  for (const isEarly of [true, false]) {
    const controller = new AbortController();
    if (isEarly) controller.abort(late());
    let fail!: (error: Error) => void;
    const work = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const left = rejection("deadline", abortable(work, controller.signal));
    controller.abort(late());
    assert.equal((await left).message, "too late");
    fail(new Error("nobody hears of it, and nothing ends"));
    await wait(1);
  }
});
