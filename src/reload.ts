// Replaces the judges of a running server by those of a configuration read anew: loads beside, passes the selftests, then
// switches. A failed load changes nothing.
import type { BuiltEncoder, Judges } from "./compose.js";
import type { Config } from "./config.js";
import { asJudgeError, JudgeError, withoutPaths } from "./errors.js";
import { createLiveRegistry, type Generation, type LiveRegistry } from "./judge/live-registry.js";
import type { Log } from "./observe/log.js";

export interface Reloader {
  readonly live: LiveRegistry;
  /**
   * Reads the configuration and switches to it; one at a time; calls that wait share the next one.
   *
   * @returns checkpoint hash by judge
   * @throws JudgeError with the reason; the judges in service stay
   */
  reload(): Promise<Readonly<Record<string, string>>>;
  close(): Promise<void>;
}

export interface ReloaderParts {
  readonly first: Judges;
  readonly readConfig: () => Config;
  /** builds judges, on the running encoders where those still fit */
  readonly compose: (config: Config, running: readonly BuiltEncoder[]) => Promise<Judges>;
  readonly log: Log;
  /** told of an encoder that no judge reads any more */
  readonly onEncoderGone: (id: string) => void;
}

export function createReloader({ first, readConfig, compose, log, onEncoderGone }: ReloaderParts): Reloader {
  let judges = first;
  /** generations that serve or still have requests to end */
  const alive = new Set<Judges>([first]);
  let queue: Promise<unknown> = Promise.resolve();
  let pending: ReturnType<typeof switchOver> | null = null;
  let closed = false;
  /** what a load has started beside the judges in service */
  let loading: readonly BuiltEncoder[] = [];
  const live = createLiveRegistry(generationOf(first));

  function generationOf(mine: Judges): Generation {
    return {
      registry: mine.registry,
      async retire() {
        alive.delete(mine);
        const inUse = [...alive].flatMap((other) => other.encoders);
        const ended = without(mine.encoders, inUse);
        await Promise.all(ended.map(({ encoder }) => encoder.close()));
        for (const { config } of ended) {
          if (!inUse.some((other) => other.config.id === config.id)) onEncoderGone(config.id);
        }
      },
    };
  }

  async function endLoading(): Promise<void> {
    const ended = loading;
    loading = [];
    await Promise.all(ended.map(({ encoder }) => encoder.close()));
    for (const { config } of ended) {
      if (!judges.encoders.some((other) => other.config.id === config.id)) onEncoderGone(config.id);
    }
  }

  function refuseWhenClosed(): void {
    if (closed) throw new JudgeError("reload_failed", "the server is ending; start it again");
  }

  async function switchOver(): Promise<Readonly<Record<string, string>>> {
    pending = null;
    refuseWhenClosed();
    if (!first.started)
      throw new JudgeError(
        "reload_failed",
        "the first load has not ended yet; try again when the server is ready",
      );
    const next = await compose(readConfig(), judges.encoders);
    refuseWhenClosed();
    loading = without(next.encoders, judges.encoders);
    try {
      await next.start();
      refuseWhenClosed();
    } catch (error) {
      await endLoading();
      throw error;
    }
    loading = [];
    judges = next;
    alive.add(next);
    live.replace(generationOf(next));
    return Object.fromEntries(next.registry.judges.map((judge) => [judge.id, judge.checkpoint.hash]));
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
      return result;
    },
    async close() {
      closed = true;
      // a load that hangs would never end by itself
      await endLoading();
      await queue;
      await live.settled();
      await judges.close();
    },
  };
}

function without(encoders: readonly BuiltEncoder[], others: readonly BuiltEncoder[]): BuiltEncoder[] {
  return encoders.filter((encoder) => !others.includes(encoder));
}
