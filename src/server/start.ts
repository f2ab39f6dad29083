// A server: judges put together from a configuration, behind a port, and their replacement.
import { setTimeout as sleep } from "node:timers/promises";
import { baseUrl } from "../config/base-url.js";
import { type Config, usedEncoders } from "../config/config.js";
import { stampOf } from "../encoder/folder.js";
import { listen } from "../http/connection/listen.js";
import { createProbabilityCache } from "../judge/probability-cache.js";
import type { LineTarget } from "../observe/line-file.js";
import { createLog, type Log } from "../observe/log.js";
import { createMetrics } from "../observe/metrics.js";
import { composeApp, readCruxSentences } from "./application.js";
import { ignoredChanges } from "./ignored-settings.js";
import { composeJudges, type Judges } from "./judges.js";
import { createReloader, type Reloader } from "./reload.js";
import { watch } from "./watch.js";
import { watchedFiles } from "./watched-files.js";

/** What a server needs of its process. */
export interface ServerEffects {
  /** folder of package.json */
  readonly packageRoot: URL;
  /** of this program */
  readonly version: string;
  /** where the log of this configuration goes; @throws JudgeError `config` */
  readonly logTarget: (log: Config["log"]) => LineTarget;
  /** how many files the process may have open */
  readonly openFileLimit: number;
  /** told when large bodies have been answered and none is left */
  readonly onQuiet?: () => void;
  /** reloads when a file changes that the judges are made of, or the configuration's file */
  readonly watch?: { readonly configFile: string | undefined };
}

export interface RunningServer extends Pick<Reloader, "reload"> {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly config: Config;
  readonly log: Log;
  /** the judges of the start */
  readonly judges: Judges;
  /**
   * Logs that the server listens, starts encoders, passes selftests. Requests before its end abstain.
   * @throws JudgeError with the first fault
   */
  load(): Promise<void>;
  close(end?: ServerEnd): Promise<void>;
}

/** How a server ends. */
export interface ServerEnd {
  /** for requests that run, in all */
  readonly graceMs: number;
  /** a part of it in which new requests are still answered, while the router learns of the end */
  readonly lastCallMs: number;
  /** a part of it for what ends after the last request: encoders and loads */
  readonly leaveMs: number;
}

/** What a server has open beside its connections, and what a reload opens: models, pipes, checkpoints. */
const ownFiles = 96;

/**
 * Listens. The judges are loaded by `load`.
 * @param readConfig reads the configuration, at the start and for each reload; `running` is what is in
 *   service by then
 * @throws JudgeError when the configuration, the address, the log or a checkpoint is not to be had; nothing
 *   is left running
 */
export async function startServer(
  readConfig: (running?: Config) => Config,
  effects: ServerEffects,
): Promise<RunningServer> {
  const config = readConfig();
  const { server } = config;
  const log = createLog(effects.logTarget(config.log), config.log.level);
  const observers = { log, metrics: createMetrics() };
  const sentences = await readCruxSentences(effects.packageRoot);
  const cache = createProbabilityCache(config.runtime.cacheBytes);
  const compose = (next: Config, running: Judges["encoders"], signal?: AbortSignal) => {
    const ignored = ignoredChanges(config, next);
    if (ignored.length > 0) log.settingsIgnored({ settings: ignored });
    return composeJudges(next, observers, { running, cache, signal });
  };
  const { watch: watched } = effects;
  const paths = () => watchedFiles(readConfig, watched?.configFile);
  const first = watched === undefined ? "" : await stampOf(await paths());
  const judges = await compose(config, []);
  const onEncoderGone = (id: string) => observers.metrics.encoderGone(id);
  const reloader = createReloader({ first: judges, readConfig, compose, log, onEncoderGone });
  let isDraining = false;
  const watching = new AbortController();
  const { app, ...told } = composeApp({
    ...{ reloader, config, sentences, observers },
    version: effects.version,
    draining: () => isDraining,
    ...(effects.onQuiet && { onQuiet: effects.onQuiet }),
  });
  const maxConnections = Math.min(server.maxConnections, effects.openFileLimit - ownFiles);
  const listening = await listen(app, { ...server, ...told, maxConnections });
  const { host, port } = listening;
  return {
    ...{ host, port, config, log, judges },
    url: baseUrl(host, port),
    async load() {
      log.listening({ pid: process.pid, host, port });
      if (server.keys.length === 0 && !listening.isLoopback) log.open({ host: server.host });
      if (maxConnections < server.maxConnections) log.connectionsLowered({ maxConnections });
      if (server.corsOrigins.includes("*")) log.openToPages();
      const used = usedEncoders(config).map(({ id }) => id);
      for (const encoder of config.ownEncoders.filter((id) => !used.includes(id)))
        log.encoderWarning({ encoder, finding: "no judge uses it, so it is not started" });
      await judges.start({ isPatient: true });
      const { signal } = watching;
      if (watched !== undefined) void watch({ paths, first, load: reloader.reload, signal });
    },
    reload: reloader.reload,
    async close({ graceMs, lastCallMs, leaveMs } = { graceMs: 0, lastCallMs: 0, leaveMs: 0 }) {
      isDraining = true;
      watching.abort();
      if (lastCallMs > 0) await sleep(lastCallMs);
      await listening.close(graceMs - lastCallMs - leaveMs);
      await reloader.close();
    },
  };
}
