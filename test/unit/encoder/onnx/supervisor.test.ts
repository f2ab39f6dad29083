// The supervisor while it runs: works, deaths, restarts. Loading and closing: supervisor-end.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ProcessLost } from "../../../../src/encoder/onnx/process-lost.js";
import { inTime, supervise, until, workOf } from "../../../support/onnx/supervised.js";
import { rejection } from "../../../support/refusal.js";

test("start gives the facts of the process", async (context) => {
  const { supervisor, children, ups } = supervise(context, ["ready"]);
  assert.equal(supervisor.up, false);
  const facts = await inTime(supervisor.start());
  assert.deepEqual([facts.hiddenSize, facts.layers, facts.threads], [4, [0, 1], 3]);
  assert.equal(supervisor.up, true);
  assert.equal(supervisor.pid, children[0]!.pid);
  assert.deepEqual(ups, [0]);
});

test("there is one work at a time", async (context) => {
  const { supervisor, run } = supervise(context, ["ready"]);
  await inTime(supervisor.start());
  const first = run("slow");
  assert.equal(supervisor.busy, true);
  await rejection("internal", run("a"));
  assert.deepEqual(await first, [1, 1]);
  assert.equal(supervisor.busy, false);
  assert.deepEqual(await run("b"), [1, 2]);
});

test("a work under which the process dies is lost; the next process takes others", async (context) => {
  const { supervisor, run, ups, downs } = supervise(context, ["frail", "ready"]);
  await inTime(supervisor.start());
  await assert.rejects(run("a"), ProcessLost);
  assert.deepEqual(
    downs.map(({ code, signal }) => [code, signal]),
    [[null, "SIGKILL"]],
  );
  await until(() => ups.length === 2);
  assert.deepEqual(await run("b"), [2, 1]);
});

test("a work is refused at once while the process is down, and while it loads again", async (context) => {
  const { supervisor, run, downs, launchedMs } = supervise(context, ["ready", "silent"], [150]);
  await inTime(supervisor.start());
  process.kill(supervisor.pid!, "SIGKILL");
  await until(() => downs.length === 1);
  assert.equal(supervisor.up, false);
  assert.equal(supervisor.pid, undefined);
  const started = performance.now();
  await rejection("encoder_down", run("a"));
  assert.ok(performance.now() - started < 50);
  assert.equal(launchedMs.length, 1);
  await until(() => launchedMs.length === 2);
  await rejection("encoder_down", run("a"));
});

test("restarts in a row wait longer each time, and from the start again after an answer", async (context) => {
  const backOffMs = [10, 40, 80];
  const { supervisor, run, downs, launchedMs, ups } = supervise(
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
  await run("a");
  process.kill(supervisor.pid!, "SIGKILL");
  await until(() => downs.length === 5);
  assert.equal(downs[4]!.retryMs, 10);
});

test("a restart whose program cannot be started is one that failed", async (context) => {
  const { supervisor, run, ups } = supervise(context, ["ready", "missing", "ready"]);
  await inTime(supervisor.start());
  process.kill(supervisor.pid!, "SIGKILL");
  await until(() => ups.length === 2);
  assert.deepEqual(await run("a"), [3, 1]);
});

for (const mode of ["throws", "starved"] as const) {
  test(`a restart whose spawn fails is one that failed: ${mode}`, async (context) => {
    const { supervisor, run, ups } = supervise(context, ["ready", mode, "ready"]);
    await inTime(supervisor.start());
    process.kill(supervisor.pid!, "SIGKILL");
    await until(() => ups.length === 2);
    assert.deepEqual(await run("a"), [3, 1]);
  });
}

test("an answer with another id is not taken for that of the call", async (context) => {
  const { supervisor, children } = supervise(context, ["ready"]);
  await inTime(supervisor.start());
  const hanging = supervisor.run(workOf("hang"));
  children[0]!.emit("message", {
    kind: "answer",
    id: 999,
    answer: { kind: "refused", error: { code: "internal", message: "x" } },
  });
  const closed = rejection("encoder_down", hanging);
  await supervisor.close();
  await closed;
});

test("a process that hangs is ended and replaced, and its work is lost", async (context) => {
  const { supervisor, run, downs } = supervise(context, ["ready"], [1], { hangMs: 200 });
  await inTime(supervisor.start());
  await assert.rejects(run("hang"), ProcessLost);
  assert.deepEqual(
    downs.map(({ signal }) => signal),
    ["SIGKILL"],
  );
  await until(() => supervisor.up);
  assert.deepEqual(await run("a"), [2, 1]);
});

test("a restart that loads for ever is ended, and the next one made", async (context) => {
  const { supervisor, run, downs, ups } = supervise(context, ["ready", "silent", "ready"], [1], {
    hangMs: 300,
  });
  await inTime(supervisor.start());
  process.kill(supervisor.pid!, "SIGKILL");
  await until(() => ups.length === 2);
  assert.deepEqual(
    downs.map(({ signal }) => signal),
    ["SIGKILL", "SIGKILL"],
  );
  assert.deepEqual(await run("a"), [3, 1]);
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
