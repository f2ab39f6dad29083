// Loading that fails, calls that are given up, and closing: everything settles, and no process is left.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { JudgeError } from "../../../../src/errors.js";
import { rejection } from "../../refusal.js";
import { block, inTime, supervise, until, workOf } from "./supervised.js";

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

describe("a call that is given up", () => {
  const left = () => new JudgeError("client_gone", "the client left");

  test("before it is made: it is not sent", async (context) => {
    const { supervisor, call } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    await rejection("client_gone", call("a", AbortSignal.abort(left())));
    assert.deepEqual(await call("b"), [1, 1]);
  });
  test("while it waits: it is not sent, those before and behind it are answered", async (context) => {
    const { supervisor, call } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    const controller = new AbortController();
    const before = call("slow");
    const waiting = rejection("client_gone", call("kill", controller.signal));
    const behind = call("b");
    controller.abort(left());
    await waiting;
    assert.deepEqual(await before, [1, 1]);
    assert.deepEqual(await behind, [1, 2]);
  });
  test("while it runs: it is let go at once, and its answer is nobody else's", async (context) => {
    const { supervisor, call } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    const controller = new AbortController();
    const running = rejection("client_gone", call("slow", controller.signal));
    const behind = call("b");
    const started = performance.now();
    controller.abort(left());
    await running;
    assert.ok(performance.now() - started < 40);
    assert.deepEqual(await behind, [1, 2]);
  });
  test("while it runs, and the process dies of it: it is not sent again", async (context) => {
    const { supervisor, call, ups } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    const controller = new AbortController();
    const running = rejection("client_gone", call("hang", controller.signal));
    controller.abort(left());
    await running;
    process.kill(supervisor.pid!, "SIGKILL");
    await until(() => ups.length === 2);
    assert.deepEqual(await call("b"), [2, 1]);
  });
  test("after its answer: nothing happens", async (context) => {
    const { supervisor, call } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    const controller = new AbortController();
    await call("a", controller.signal);
    controller.abort(left());
    assert.deepEqual(await call("b"), [1, 2]);
  });
});

describe("close", () => {
  test("ends the process, settles what runs and waits, and refuses what comes", async (context) => {
    const { supervisor, call, children, launchedMs, downs } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    const calls = ["hang", "b", "c"].map((text) => rejection("encoder_down", call(text)));
    await inTime(supervisor.close());
    await Promise.all(calls);
    assert.equal(children[0]!.signalCode, "SIGKILL");
    assert.ok(gone(children[0]!.pid));
    await rejection("encoder_down", call("late"));
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
  test("with an answer still unread: the call settles once and nothing more is sent", async (context) => {
    const { supervisor } = supervise(context, ["ready"]);
    await inTime(supervisor.start());
    const calls = ["a", "b"].map((text) => supervisor.call(workOf(text)));
    block(60);
    const settled = Promise.allSettled(calls);
    await inTime(supervisor.close());
    assert.equal((await inTime(settled)).length, 2);
    assert.equal(supervisor.up, false);
  });
  test("of a program that was not there has nothing to wait for", async (context) => {
    const { supervisor } = supervise(context, ["missing"]);
    supervisor.start().catch(() => {});
    await wait(50);
    await inTime(supervisor.close(), 1000);
  });
});
