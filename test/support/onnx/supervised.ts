// A supervisor over real processes (supervisor-child.ts), with what it did on record.
import { ChildProcess, fork } from "node:child_process";
import type { TestContext } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { Tokens } from "../../../src/encoder/encoder.js";
import type { Work } from "../../../src/encoder/onnx/protocol.js";
import { createSupervisor } from "../../../src/encoder/onnx/supervisor.js";

/**
 * ready: loads and works; frail: loads, dies of any work; exits: dies loading; refuses: cannot load; silent:
 * loads forever; missing: the program is not there; throws: spawn itself fails; starved: no file descriptor
 * is left for it.
 */
export type Mode = "ready" | "frail" | "exits" | "refuses" | "silent" | "missing" | "throws" | "starved";

/** Fails when `promise` has not settled after `limitMs`: a test that hangs says nothing. */
export async function inTime<T>(promise: Promise<T>, limitMs = 10_000): Promise<T> {
  const controller = new AbortController();
  const late = wait(limitMs, undefined, { signal: controller.signal }).then(() => {
    throw new Error(`nothing happened within ${limitMs} ms`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    controller.abort();
  }
}

/** What fork gives without file descriptors: no channel, and an error soon. */
function starved(): ChildProcess {
  const child = new ChildProcess();
  process.nextTick(() => child.emit("error", new Error("spawn EMFILE")));
  return child;
}

/** @param modes of the first, second, … process; the last repeats */
export function supervise(
  context: TestContext,
  modes: readonly Mode[],
  backOffMs: readonly number[] = [1],
  limits: { hangMs?: number; steadyMs?: number } = {},
) {
  const children: ChildProcess[] = [];
  const launchedMs: number[] = [];
  const ups: number[] = [];
  const downs: { code: number | null; signal: string | null; retryMs: number; atMs: number }[] = [];
  const supervisor = createSupervisor({
    spawn() {
      const mode = modes[Math.min(launchedMs.length, modes.length - 1)]!;
      launchedMs.push(performance.now());
      if (mode === "throws") throw Object.assign(new Error("spawn ENOMEM"), { code: "ENOMEM" });
      if (mode === "starved") return starved();
      const child = fork(new URL("./supervisor-child.js", import.meta.url), [mode, `${launchedMs.length}`], {
        serialization: "advanced",
        stdio: ["ignore", "ignore", "ignore", "ipc"],
        execArgv: [],
        ...(mode === "missing" && { execPath: "/nonexistent/node" }),
      });
      children.push(child);
      return child;
    },
    load: () => ({ kind: "load", folder: "unused", threads: 3, paddingSide: "right", files: null }),
    events: {
      up: (_, { restarts }) => ups.push(restarts),
      down: (how) => downs.push({ ...how, atMs: performance.now() }),
    },
    backOffMs,
    ...limits,
  });
  context.after(async () => {
    // once more while processes appear: a test that failed must not keep the others waiting
    for (let launches = -1; launches !== launchedMs.length; ) {
      launches = launchedMs.length;
      await inTime(supervisor.close(), 500).catch(() => {});
      for (const child of children) child.kill("SIGKILL");
      await wait(20);
    }
  });
  return {
    supervisor,
    children,
    launchedMs,
    ups,
    downs,
    /** launch number and works received, as the answering process says */
    async run(text: string): Promise<readonly number[]> {
      const answer = await inTime(supervisor.run(workOf(text)));
      if (answer.kind !== "tokenized") throw new Error(`found an answer of kind ${answer.kind}`);
      return (answer.tokens[0] as Tokens).ids;
    },
  };
}

export function workOf(text: string): Work {
  return {
    kind: "tokenize",
    texts: [text],
    view: { template: "none", maxTokens: 9, truncation: "middle" },
  };
}

/** Waits until `condition` holds; fails when it does not within ten seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error("what was waited for did not happen within 10 s");
    await wait(2);
  }
}

/** Blocks this process, so that what others send meanwhile lies unread. */
export function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
