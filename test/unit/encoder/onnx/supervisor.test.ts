// The supervisor while it runs: calls, deaths, restarts. Loading, aborting and closing: supervisor-end.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { rejection } from "../../refusal.js";
import { inTime, supervise, until, workOf } from "./supervised.js";

test("start gives the facts of the process", async (context) => {
  const { supervisor, children, ups } = supervise(context, ["ready"]);
  assert.equal(supervisor.up, false);
  const facts = await inTime(supervisor.start());
  assert.deepEqual([facts.hiddenSize, facts.layers, facts.threads], [4, [0, 1], 3]);
  assert.equal(supervisor.up, true);
  assert.equal(supervisor.pid, children[0]!.pid);
  assert.deepEqual(ups, [0]);
});

test("calls are run one at a time, in their order", async (context) => {
  const { supervisor, call } = supervise(context, ["ready"]);
  await inTime(supervisor.start());
  const finished: number[] = [];
  const calls = ["slow", "", "slow", ""].map(async (text) => {
    const [, received] = await call(text);
    finished.push(received!);
  });
  await Promise.all(calls);
  assert.deepEqual(finished, [1, 2, 3, 4]);
});

test("what runs when the process dies is run again by the next one, and so is what waits", async (context) => {
  const { supervisor, call, ups, downs } = supervise(context, ["frail", "ready"]);
  await inTime(supervisor.start());
  const answers = await Promise.all([call("a"), call("b"), call("c")]);
  assert.deepEqual(answers, [
    [2, 1],
    [2, 2],
    [2, 3],
  ]);
  assert.deepEqual(ups, [0, 1]);
  assert.deepEqual(
    downs.map(({ code, signal }) => [code, signal]),
    [[null, "SIGKILL"]],
  );
});

test("a process killed from outside is replaced without losing a call", async (context) => {
  const { supervisor, call } = supervise(context, ["ready"]);
  await inTime(supervisor.start());
  const calls = ["slow", "b", "c", "d", "e", "f", "g", "h", "i", "j"].map((text) => call(text));
  process.kill(supervisor.pid!, "SIGKILL");
  assert.deepEqual(
    (await Promise.all(calls)).map(([launch]) => launch),
    Array(10).fill(2),
  );
});

test("a call under which the process dies twice is given up, those behind it are answered", async (context) => {
  const { supervisor, call, children } = supervise(context, ["ready"]);
  await inTime(supervisor.start());
  const killing = rejection("encoder_down", call("kill"));
  assert.deepEqual(await call("b"), [3, 1]);
  await killing;
  assert.equal(children.length, 3);
});

test("a call is refused at once while the process is down, and while it loads again", async (context) => {
  const { supervisor, call, downs, launchedMs } = supervise(context, ["ready", "silent"], [150]);
  await inTime(supervisor.start());
  process.kill(supervisor.pid!, "SIGKILL");
  await until(() => downs.length === 1);
  assert.equal(supervisor.up, false);
  assert.equal(supervisor.pid, undefined);
  const started = performance.now();
  await rejection("encoder_down", call("a"));
  assert.ok(performance.now() - started < 50);
  assert.equal(launchedMs.length, 1);
  await until(() => launchedMs.length === 2);
  await rejection("encoder_down", call("a"));
});

test("restarts in a row wait longer each time, and from the start again after an answer", async (context) => {
  const backOffMs = [10, 40, 80];
  const { supervisor, call, downs, launchedMs, ups } = supervise(
    context,
    ["ready", "exits", "refuses", "exits", "ready"],
    backOffMs,
  );
  await inTime(supervisor.start());
  process.kill(supervisor.pid!, "SIGKILL");
  await until(() => ups.length === 2);
  assert.deepEqual(
    downs.map(({ retryMs }) => retryMs),
    [10, 40, 80, 80],
  );
  downs.forEach(({ atMs, retryMs }, index) => {
    const waitedMs = launchedMs[index + 1]! - atMs;
    assert.ok(waitedMs >= retryMs - 1, `waited ${waitedMs} ms, wanted ${retryMs}`);
  });
  assert.deepEqual(ups, [0, 4]);
  await call("a");
  process.kill(supervisor.pid!, "SIGKILL");
  await until(() => downs.length === 5);
  assert.equal(downs[4]!.retryMs, 10);
});

test("calls that wait for a restart are refused when it fails, and do not wait for the next", async (context) => {
  const { supervisor, call, downs } = supervise(context, ["frail", "exits", "ready"], [1, 10_000]);
  await inTime(supervisor.start());
  await Promise.all(["a", "b"].map((text) => rejection("encoder_down", call(text))));
  assert.equal(downs.length, 2);
});

test("a restart whose program cannot be started is one that failed", async (context) => {
  const { supervisor, call, ups } = supervise(context, ["ready", "missing", "ready"]);
  await inTime(supervisor.start());
  process.kill(supervisor.pid!, "SIGKILL");
  await until(() => ups.length === 2);
  assert.deepEqual(await call("a"), [3, 1]);
});

for (const mode of ["throws", "starved"] as const) {
  test(`a restart whose spawn fails is one that failed: ${mode}`, async (context) => {
    const { supervisor, call, ups } = supervise(context, ["ready", mode, "ready"]);
    await inTime(supervisor.start());
    process.kill(supervisor.pid!, "SIGKILL");
    await until(() => ups.length === 2);
    assert.deepEqual(await call("a"), [3, 1]);
  });
}

test("an answer with another id is not taken for that of the call", async (context) => {
  const { supervisor, children } = supervise(context, ["ready"]);
  await inTime(supervisor.start());
  const hanging = supervisor.call(workOf("hang"));
  children[0]!.emit("message", {
    kind: "answer",
    id: 999,
    answer: { kind: "refused", error: { code: "internal", message: "x" } },
  });
  const closed = rejection("encoder_down", hanging);
  await supervisor.close();
  await closed;
});

test("a process that hangs on a call is ended and replaced; the call is given up after the second", async (context) => {
  const { supervisor, call, downs } = supervise(context, ["ready"], [1], { hangMs: 200 });
  await inTime(supervisor.start());
  await rejection("encoder_down", call("hang"));
  assert.deepEqual(
    downs.map(({ signal }) => signal),
    ["SIGKILL", "SIGKILL"],
  );
  await until(() => supervisor.up);
  assert.deepEqual(await call("a"), [3, 1]);
});

test("a process that has lived long enough dies as if for the first time", async (context) => {
  const { supervisor, downs } = supervise(context, ["ready"], [1, 2, 3], { steadyMs: 50 });
  await inTime(supervisor.start());
  for (let death = 1; death <= 3; death++) {
    await until(() => supervisor.up);
    await sleep(150);
    process.kill(supervisor.pid!, "SIGKILL");
    await until(() => downs.length === death);
  }
  assert.deepEqual(
    downs.map(({ retryMs }) => retryMs),
    [1, 1, 1],
  );
});
