// Replaces a running server's judges: loads beside, passes selftests, switches. A failure changes nothing.

import type { VerdictSettings } from "../answer/verdict-settings.js";
import type { Config } from "../config/config.js";
import { asJudgeError, JudgeError, withoutPaths } from "../errors.js";
import { createLiveRegistry, type Generation, type LiveRegistry } from "../judge/live-registry.js";
import type { Log } from "../observe/log.js";
import type { BuiltEncoder } from "./encoders.js";
import type { Judges } from "./judges.js";

export interface Reloader {
  readonly live: LiveRegistry<VerdictSettings>;
  /**
   * Reads the configuration and switches to it, one at a time. Calls that wait share the next one.
   * @returns checkpoint hash by judge
   * @throws JudgeError with the reason; the judges in service stay
   */
  reload(): Promise<Readonly<Record<string, string>>>;
  close(): Promise<void>;
}

export interface ReloaderParts {
  readonly first: Judges;
  /** @param running what is in service by now */
  readonly readConfig: (running: Config) => Config;
  /** builds judges, on the running encoders where those still fit */
  readonly compose: (
    config: Config,
    running: readonly BuiltEncoder[],
    signal: AbortSignal,
  ) => Promise<Judges>;
  readonly log: Log;
  /** told of an encoder that no judge reads any more */
  readonly onEncoderGone: (id: string) => void;
}

/** A load that takes longer makes way for the next one. Calls that keep coming must not end each other. */
const patienceMs = 10_000;
/** An encoder's end is not waited for any longer: a process that hangs in the kernel cannot be ended. */
const endMs = 5000;

export function createReloader({ first, readConfig, compose, log, onEncoderGone }: ReloaderParts): Reloader {
  let judges = first;
  /** generations that serve or still have requests to end */
  const alive = new Set<Judges>([first]);
  let queue: Promise<unknown> = Promise.resolve();
  let pending: ReturnType<typeof switchOver> | null = null;
  /** ends the load that runs */
  let running: AbortController | null = null;
  let isPatient = true;
  let closed = false;
  const live = createLiveRegistry(generationOf(first));

  function generationOf(mine: Judges): Generation<VerdictSettings> {
    return {
      registry: mine.registry,
      async retire() {
        alive.delete(mine);
        for (const judge of mine.registry.judges) judge.close();
        await end(mine.encoders);
      },
    };
  }

  /** Ends those of the encoders that no generation uses. */
  async function end(encoders: readonly BuiltEncoder[]): Promise<void> {
    const inUse = [...alive].flatMap((other) => other.encoders);
    const ended = without(encoders, inUse);
    const late = new Promise((resolve) => setTimeout(resolve, endMs).unref());
    await Promise.race([Promise.all(ended.map(({ encoder }) => encoder.close())), late]);
    for (const { config } of ended) {
      if (!inUse.some((other) => other.config.id === config.id)) onEncoderGone(config.id);
    }
  }

  async function switchOver(): Promise<Readonly<Record<string, string>>> {
    pending = null;
    const controller = new AbortController();
    if (closed) controller.abort(ending());
    controller.signal.throwIfAborted();
    if (!first.started)
      throw new JudgeError("reload_failed", {
        found: "the first load has not ended yet",
        remedy: "try again when the server is ready",
      });
    running = controller;
    isPatient = true;
    const timer = setTimeout(() => {
      isPatient = false;
      makeWay();
    }, patienceMs);
    try {
      const next = await load(controller.signal);
      judges = next;
      live.replace(generationOf(next));
      return Object.fromEntries(next.registry.judges.map((judge) => [judge.id, judge.checkpoint.hash]));
    } finally {
      clearTimeout(timer);
      running = null;
    }
  }

  async function load(signal: AbortSignal): Promise<Judges> {
    const next = await compose(readConfig(judges.config), judges.encoders, signal);
    try {
      await next.start({ signal });
      signal.throwIfAborted();
      alive.add(next);
      return next;
    } catch (error) {
      await end(next.encoders);
      throw error;
    }
  }

  /** Gives up a load that has had its time when another one waits. */
  function makeWay(): void {
    if (isPatient || pending === null) return;
    running?.abort(
      new JudgeError("reload_failed", {
        found: `given up after ${patienceMs} ms for a newer reload, which follows`,
      }),
    );
  }

  return {
    live,
    reload() {
      // one that waits will read all that has changed by then
      if (pending !== null) return pending;
      const result = queue.then(switchOver);
      pending = result;
      queue = result.catch(() => {});
      result.then(
        (hashes) => log.reloaded({ judges: hashes }),
        (error: unknown) => log.reloadFailed({ reason: withoutPaths(asJudgeError(error).message) }),
      );
      makeWay();
      return result;
    },
    async close() {
      closed = true;
      running?.abort(ending());
      await queue;
      await live.settled();
      await judges.close();
    },
  };
}

function ending(): JudgeError {
  return new JudgeError("reload_failed", { found: "the server is ending", remedy: "start it again" });
}

function without(encoders: readonly BuiltEncoder[], others: readonly BuiltEncoder[]): BuiltEncoder[] {
  return encoders.filter((encoder) => !others.includes(encoder));
}
