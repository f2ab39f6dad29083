// Reloading with judges that only note what becomes of them: the order of loads, what a failure leaves, and
// which encoders end.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { abortable } from "../../../src/abort.js";
import type { Config } from "../../../src/config/config.js";
import { JudgeError } from "../../../src/errors.js";
import { createLog } from "../../../src/observe/log.js";
import type { BuiltEncoder } from "../../../src/server/encoders.js";
import type { Judges } from "../../../src/server/judges.js";
import { createReloader } from "../../../src/server/reload.js";
import { rejection } from "../../support/refusal.js";

/** What the next configuration asks for. */
interface Plan {
  /** also the hash of its one judge */
  readonly name: string;
  readonly encoders: readonly string[];
  readonly failsAt?: "read" | "compose" | "start";
  /** start waits for it, or compose */
  readonly gate?: Promise<void>;
  readonly gateAt?: "compose" | "start";
}

const never = new Promise<void>(() => {});

/** @param onClose told of every encoder that is closed, which waits for what it returns */
function createBench(first: Plan, onClose: (name: string) => Promise<void> | undefined = () => undefined) {
  const closed: string[] = [];
  const endedJudges: string[] = [];
  const events: string[] = [];
  /** what was in service when a configuration was read */
  const readBeside: string[] = [];
  const logLines: { msg: string; reason?: string; judges?: object }[] = [];
  let plan = first;
  let failure = new JudgeError("checkpoint", { found: "damaged", remedy: "restore it" });
  const failAt = (place: Plan["failsAt"], { failsAt }: Plan) => {
    if (failsAt === place) throw failure;
  };
  const batches = { maxBatch: 1, maxBatchTokens: 1, maxWaitMs: 0, queueLimit: 1 };
  const runtime = { threads: 1, processes: 1, batches };
  const build = (name: string): BuiltEncoder => {
    const close = async () => {
      closed.push(name);
      await onClose(name);
    };
    const encoder = { close } as unknown as BuiltEncoder["encoder"];
    return { encoder, config: { id: name, type: "onnx", path: "/", model: null }, runtime };
  };
  const judgesOf = (wanted: Plan, running: readonly BuiltEncoder[]): Judges => {
    const encoders = wanted.encoders.map(
      (name) => running.find(({ config }) => config.id === name) ?? build(name),
    );
    const close = () => void endedJudges.push(wanted.name);
    const judges = [{ id: "judge", checkpoint: { hash: wanted.name }, close }];
    return {
      config: { plan: wanted } as unknown as Config,
      registry: { judges } as unknown as Judges["registry"],
      encoders,
      started: true,
      async start({ signal } = {}) {
        events.push(`start ${wanted.name}`);
        if (wanted.gateAt !== "compose") await abortable(wanted.gate ?? Promise.resolve(), signal!);
        failAt("start", wanted);
        events.push(`started ${wanted.name}`);
      },
      close: async () => void closed.push(...encoders.map(({ config }) => config.id)),
    };
  };
  const reloader = createReloader({
    first: judgesOf(first, []),
    readConfig(running) {
      readBeside.push((running as unknown as { plan: Plan }).plan.name);
      failAt("read", plan);
      return { plan } as unknown as Config;
    },
    async compose(config, running, signal) {
      const wanted = (config as unknown as { plan: Plan }).plan;
      if (wanted.gateAt === "compose") await abortable(wanted.gate!, signal);
      failAt("compose", wanted);
      return judgesOf(wanted, running);
    },
    log: createLog({ write: (line) => logLines.push(JSON.parse(line)) }, "info"),
    onEncoderGone: () => {},
  });
  const serving = () => reloader.live.current.judges[0]!.checkpoint.hash;
  return {
    closed,
    endedJudges,
    events,
    readBeside,
    logLines,
    reloader,
    serving,
    reload(next: Plan, error = failure) {
      plan = next;
      failure = error;
      return reloader.reload();
    },
  };
}

test("a reload answers with the hash by judge once the new ones serve, and logs it", async () => {
  const { reload, serving, logLines, closed } = createBench({ name: "one", encoders: ["a"] });
  assert.deepEqual(await reload({ name: "two", encoders: ["a"] }), { judge: "two" });
  assert.equal(serving(), "two");
  assert.deepEqual([logLines[0]?.msg, logLines[0]?.judges], ["reloaded", { judge: "two" }]);
  await turn();
  assert.deepEqual(closed, []);
});

test("the old judges serve until the new ones have started", async () => {
  const { reload, serving } = createBench({ name: "one", encoders: ["a"] });
  let open!: () => void;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reloaded = reload({ name: "two", encoders: ["b"], gate });
  await turn();
  assert.equal(serving(), "one");
  open();
  await reloaded;
  assert.equal(serving(), "two");
});

test("reloads run one after another, in the order of their calls, whatever one of them ends in", async () => {
  const { reload, serving, events } = createBench({ name: "one", encoders: ["a"] });
  const two = reload({ name: "two", encoders: ["a"], gate: turn() });
  await turn();
  const three = reload({ name: "three", encoders: ["a"], failsAt: "start" });
  await Promise.all([two, rejection("checkpoint", three)]);
  await reload({ name: "four", encoders: ["a"] });
  assert.deepEqual(events, ["start two", "started two", "start three", "start four", "started four"]);
  assert.equal(serving(), "four");
});

for (const failsAt of ["read", "compose", "start"] as const) {
  test(`a load that fails (${failsAt}) rejects, and ends only what was started for it`, async () => {
    const { reload, reloader, serving, closed, logLines } = createBench({
      name: "one",
      encoders: ["a", "b"],
    });
    await rejection("checkpoint", reload({ name: "two", encoders: ["b", "c"], failsAt }));
    assert.equal(serving(), "one");
    assert.deepEqual(closed, failsAt === "start" ? ["c"] : []);
    assert.equal(logLines.length, 1);
    assert.match(logLines[0]!.msg, /^reload failed/);
    assert.equal(logLines[0]!.reason, "damaged; restore it");
    await reloader.close();
    assert.deepEqual(closed.toSorted(), failsAt === "start" ? ["a", "b", "c"] : ["a", "b"]);
  });
}

describe("encoders", () => {
  test("that a swap leaves behind end after the last request on them, those taken over do not", async () => {
    const { reload, reloader, closed, endedJudges } = createBench({ name: "one", encoders: ["a", "b"] });
    const lease = reloader.live.acquire();
    await reload({ name: "two", encoders: ["b", "c"] });
    await turn();
    assert.deepEqual([closed, endedJudges], [[], []]);
    lease.release();
    await reloader.live.settled();
    assert.deepEqual([closed, endedJudges], [["a"], ["one"]]);
    await reloader.close();
    assert.deepEqual(closed, ["a", "b", "c"]);
  });
  test("that two old generations share end after the last request of both", async () => {
    const { reload, reloader, closed } = createBench({ name: "one", encoders: ["a"] });
    const first = reloader.live.acquire();
    await reload({ name: "two", encoders: ["a"] });
    const second = reloader.live.acquire();
    await reload({ name: "three", encoders: ["b"] });
    first.release();
    await turn();
    assert.deepEqual(closed, [], "a request of the second generation still reads encoder a");
    second.release();
    await reloader.live.settled();
    assert.deepEqual(closed, ["a"]);
  });
});

test("the third replaced generation ends the encoder of the first, whose request still runs", async () => {
  const { reload, reloader, closed } = createBench({ name: "one", encoders: ["a"] });
  const leases = [reloader.live.acquire()];
  for (const name of ["b", "c", "d"]) {
    await reload({ name, encoders: [name] });
    leases.push(reloader.live.acquire());
  }
  await turn();
  assert.deepEqual(closed, ["a"]);
  for (const lease of leases) lease.release();
  await reloader.close();
  assert.deepEqual(closed.toSorted(), ["a", "b", "c", "d"]);
});

test("a reload that is running when the server ends does not come into service, and all encoders end", async () => {
  const { reload, reloader, serving, closed } = createBench({ name: "one", encoders: ["a"] });
  let open!: () => void;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reloaded = reload({ name: "two", encoders: ["b"], gate });
  await turn();
  const closing = reloader.close();
  open();
  await rejection("reload_failed", reloaded);
  await closing;
  assert.equal(serving(), "one");
  assert.deepEqual(closed.toSorted(), ["a", "b"]);
});

for (const gateAt of ["compose", "start"] as const) {
  test(`a load that hangs (${gateAt}) ends with the server`, async () => {
    const bench = createBench({ name: "one", encoders: ["a"] });
    const reloaded = bench.reload({ name: "two", encoders: ["b"], gate: never, gateAt });
    await turn();
    const failed = rejection("reload_failed", reloaded);
    await bench.reloader.close();
    await failed;
    assert.deepEqual(bench.closed, gateAt === "start" ? ["b", "a"] : ["a"]);
  });

  test(`a load that hangs (${gateAt}) has its time, then it is given up for the next one`, async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { reload, serving, closed, logLines } = createBench({ name: "one", encoders: ["a"] });
    const hanging = rejection("reload_failed", reload({ name: "two", encoders: ["b"], gate: never, gateAt }));
    await turn();
    const next = reload({ name: "three", encoders: ["c"] });
    context.mock.timers.tick(9_999);
    await turn();
    assert.equal(serving(), "one");
    context.mock.timers.tick(1);
    assert.match((await hanging).message, /^given up after 10000 ms for a newer reload/);
    await next;
    assert.equal(serving(), "three");
    assert.deepEqual(closed, gateAt === "start" ? ["b", "a"] : ["a"]);
    assert.deepEqual(
      logLines.map(({ msg }) => msg),
      ["reload failed; the judges in service stay", "reloaded"],
    );
  });
}

test("a load that has had its time goes on until there is another one, which then follows at once", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { reload, serving } = createBench({ name: "one", encoders: ["a"] });
  let open!: () => void;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const slow = reload({ name: "two", encoders: ["b"], gate });
  await turn();
  context.mock.timers.tick(60_000);
  await turn();
  open();
  await slow;
  assert.equal(serving(), "two");
  const hanging = rejection("reload_failed", reload({ name: "three", encoders: ["b"], gate: never }));
  await turn();
  context.mock.timers.tick(60_000);
  await reload({ name: "four", encoders: ["b"] });
  await hanging;
  assert.equal(serving(), "four");
});

test("an encoder that does not end keeps no load waiting", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const bench = createBench({ name: "one", encoders: ["a"] }, (name) =>
    name === "stuck" ? never : undefined,
  );
  const failed = rejection(
    "checkpoint",
    bench.reload({ name: "two", encoders: ["stuck"], failsAt: "start" }),
  );
  await turn();
  context.mock.timers.tick(5000);
  await failed;
  await bench.reload({ name: "three", encoders: ["a"] });
  assert.equal(bench.serving(), "three");
});

test("a configuration is read beside the one that is in service", async () => {
  const { reload, readBeside } = createBench({ name: "one", encoders: ["a"] });
  await rejection("checkpoint", reload({ name: "two", encoders: ["a"], failsAt: "start" }));
  await reload({ name: "three", encoders: ["a"] });
  await reload({ name: "four", encoders: ["a"] });
  assert.deepEqual(readBeside, ["one", "one", "three"]);
});

describe("the log tells a reason without a path", () => {
  for (const path of ["someone/x.toml", "someone/a/b/checkpoint", "some one/my files/x.toml"]) {
    test(path, async () => {
      const { reload, logLines } = createBench({ name: "one", encoders: ["a"] });
      const error = new JudgeError("checkpoint", {
        found: `checkpoint /home/${path}: damaged`,
        remedy: "restore it",
      });
      await rejection("checkpoint", reload({ name: "two", encoders: ["a"], failsAt: "read" }, error));
      assert.match(logLines[0]!.reason!, /^checkpoint [^/]*: damaged; restore it$/);
      assert.doesNotMatch(logLines[0]!.reason!, /home|some|one|my files/);
    });
  }
});
