// Loading that fails, and closing: everything settles, and no process is left.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { JudgeError } from "../../../../src/errors.js";
import { block, inTime, supervise, until, workOf } from "../../../support/onnx/supervised.js";
import { rejection } from "../../../support/refusal.js";

const gone = (pid: number | undefined) => {
  try {
    process.kill(pid!, 0);
    return false;
  } catch {
    return true;
  }
};

test("a start that comes after the end starts nothing", async (context) => {
  const { supervisor, launchedMs } = supervise(context, ["ready"]);
  await supervisor.close();
  await rejection("encoder_down", inTime(supervisor.start()));
  assert.equal(launchedMs.length, 0);
});

describe("a first load that fails rejects start, and nothing is restarted", () => {
  test("the process refuses the model", async (context) => {
    const { supervisor, launchedMs, downs } = supervise(context, ["refuses"]);
    const { message } = await rejection("encoder", inTime(supervisor.start()));
    assert.equal(message, "model.onnx is damaged");
    await wait(100);
    assert.deepEqual([launchedMs.length, downs.length, supervisor.up], [1, 0, false]);
  });
  test("the process ends", async (context) => {
    const { supervisor, launchedMs, downs } = supervise(context, ["exits"]);
    const { message } = await rejection("encoder", inTime(supervisor.start()));
    assert.match(message, /ended with exit code 3 while it loaded/);
    await wait(100);
    assert.deepEqual([launchedMs.length, downs.length, supervisor.up], [1, 0, false]);
  });
  test("the process is killed", async (context) => {
    const { supervisor, children } = supervise(context, ["silent"]);
    const starting = rejection("encoder", inTime(supervisor.start()));
    children[0]!.kill("SIGKILL");
    assert.match((await starting).message, /ended by SIGKILL/);
  });
  test("the program is not there", async (context) => {
    const { supervisor } = supervise(context, ["missing"]);
    await rejection("encoder", inTime(supervisor.start(), 1000));
  });
});

describe("close", () => {
  test("ends the process, refuses what runs and what comes", async (context) => {
    const { supervisor, run, children, launchedMs, downs } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    const running = rejection("encoder_down", run("hang"));
    await inTime(supervisor.close());
    await running;
    assert.equal(children[0]!.signalCode, "SIGKILL");
    assert.ok(gone(children[0]!.pid));
    await rejection("encoder_down", run("late"));
    await wait(50);
    assert.deepEqual([launchedMs.length, downs.length, supervisor.up], [1, 0, false]);
  });
  test("twice is like once", async (context) => {
    const { supervisor } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    await inTime(Promise.all([supervisor.close(), supervisor.close()]));
    await inTime(supervisor.close());
  });
  test("before start has nothing to do", async (context) => {
    const { supervisor, launchedMs } = supervise(context, ["ready"]);
    await inTime(supervisor.close());
    assert.equal(launchedMs.length, 0);
  });
  test("while it waits to restart: nothing is started any more", async (context) => {
    const { supervisor, launchedMs, downs } = supervise(context, ["ready"], [30]);
    await inTime(supervisor.start());
    process.kill(supervisor.pid!, "SIGKILL");
    await until(() => downs.length === 1);
    await inTime(supervisor.close());
    await wait(80);
    assert.equal(launchedMs.length, 1);
  });
  test("while it loads: start is refused, and the process ended", async (context) => {
    const { supervisor, children } = supervise(context, ["silent"]);
    const starting = supervisor.start();
    starting.catch(() => {});
    await inTime(supervisor.close());
    assert.ok(gone(children[0]!.pid));
    await assert.rejects(inTime(starting, 300), JudgeError);
  });
  test("with the end of loading still unread: it stays closed", async (context) => {
    const { supervisor, launchedMs } = supervise(context, ["ready"]);
    supervisor.start().catch(() => {});
    block(400);
    await inTime(supervisor.close());
    await wait(100);
    assert.deepEqual([launchedMs.length, supervisor.up], [1, false]);
  });
  test("with an answer still unread: the work settles once and nothing more is sent", async (context) => {
    const { supervisor } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    const settled = Promise.allSettled([supervisor.run(workOf("a"))]);
    block(60);
    await inTime(supervisor.close());
    assert.equal((await inTime(settled)).length, 1);
    assert.equal(supervisor.up, false);
  });
  test("of a program that was not there has nothing to wait for", async (context) => {
    const { supervisor } = supervise(context, ["missing"]);
    supervisor.start().catch(() => {});
    await wait(50);
    await inTime(supervisor.close(), 1000);
  });
});
