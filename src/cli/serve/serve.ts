// `serve`: listens, loads, says what to paste, and ends cleanly on SIGTERM or Ctrl-C.
import { constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { isTorchFile, torchSelftest } from "../../checkpoint/load.js";
import type { Config } from "../../config/config.js";
import { stampOf } from "../../encoder/folder.js";
import { garbageCollector } from "../../encoder/process/garbage-collector.js";
import { JudgeError } from "../../errors.js";
import { listen } from "../../http/connection/listen.js";
import type { Judge } from "../../judge/judge-parts.js";
import { createProbabilityCache } from "../../judge/probability-cache.js";
import { createLineFile } from "../../observe/line-file.js";
import { createLog, type LogTarget, standardErrorTarget } from "../../observe/log.js";
import { createMetrics } from "../../observe/metrics.js";
import { composeApp, readCruxSentences } from "../../server/application.js";
import { encoderFiles } from "../../server/encoders.js";
import { composeJudges, type Judges } from "../../server/judges.js";
import { createReloader } from "../../server/reload.js";
import { watch } from "../../server/watch.js";
import { headFacts, headFactsText } from "../checkpoint/head-facts.js";
import { openFileLimit } from "../process-limits.js";
import { baseUrl, curlLine, routesToml } from "../routes/routes-text.js";
import { printable, type Terminal } from "../terminal.js";

/** New requests are still answered for so long after the signal, while the router learns that this server is ending. */
const lameDuckMs = 500;
/** Of the grace, for what ends after the last request: encoders and loads. */
const endMs = 500;
/** They may take as long as this where the grace is shorter; what hangs then is left. */
const leastEndMs = 2000;
/**
 * From many requests that wait long for the encoder V8 would learn to put what a request needs among the old objects, at once and
 * for all requests to come. There each dead one keeps young ones alive until a full collection: in a server that had judged
 * thousands under load a kept result took a quarter more of its time, and four more threads of the collector beside it.
 */
const collectorFlags = "--no-allocation-site-pretenuring";
/** What the server has open beside its connections, and what a reload opens: models, pipes, checkpoints. */
const ownFiles = 96;
/** An encoder may still hold a text whose request has its answer. */
const collectDelayMs = 5000;

export interface ServeOptions {
  /** reload when a file changes that the judges are made of */
  readonly watch: boolean;
  readonly configFile: string | undefined;
}

/**
 * Serves until a signal ends it; SIGHUP reads the configuration and the checkpoints anew.
 *
 * @throws JudgeError when the address, the log, a checkpoint or an encoder is not to be had; nothing is left running
 */
export async function serve(
  readConfig: (running?: Config) => Config,
  options: ServeOptions,
  terminal: Terminal,
): Promise<void> {
  setFlagsFromString(collectorFlags);
  const collectLater = delayedCollector();
  terminal.outliveReaders();
  const config = readConfig();
  const { server } = config;
  const log = createLog(logTarget(config, terminal), config.log.level);
  const observers = { log, metrics: createMetrics() };
  const sentences = await readCruxSentences(terminal.packageRoot);
  const cache = createProbabilityCache(config.runtime.cacheBytes);
  const compose = (next: Config, running: Judges["encoders"], signal?: AbortSignal) =>
    composeJudges(next, observers, { running, cache, signal });
  const paths = () => filesOf(readConfig, options);
  const first = options.watch ? await stampOf(await paths()) : "";
  const judges = await compose(config, []);
  const reloader = createReloader({
    first: judges,
    readConfig,
    compose,
    log,
    onEncoderGone: (id) => observers.metrics.encoderUp(id, false),
  });
  let draining = false;
  const { version } = terminal;
  const { app, onRefusal, onClosed } = composeApp({
    reloader,
    config,
    sentences,
    observers,
    version,
    draining: () => draining,
    onQuiet: collectLater,
  });
  const ended = terminal.nextSignal();
  void ended.then(() => terminal.endWithin(Math.max(server.shutdownGraceMs, leastEndMs)));
  let isReady = false;
  let isReloadWanted = false;
  // the outcome of a reload is in the log; what changes during the first load is read after it
  const reload = () => {
    if (isReady) void reloader.reload().catch(() => {});
    else isReloadWanted = true;
  };
  terminal.onHangup(reload);
  const maxConnections = Math.min(server.maxConnections, openFileLimit() - ownFiles);
  const listening = await listen(app, { ...server, maxConnections, onRefusal, onClosed });
  log.listening({ pid: terminal.pid, host: listening.host, port: listening.port });
  if (server.keys.length === 0 && !listening.isLoopback) log.open({ host: server.host });
  if (maxConnections < server.maxConnections) log.connectionsLowered({ maxConnections });
  if (server.corsOrigins.includes("*")) log.openToPages();
  const watching = new AbortController();
  let graceMs = 0;
  try {
    const signal = await Promise.race([judges.start(), ended]);
    if (signal === undefined) {
      const url = baseUrl(listening.host, listening.port);
      terminal.print(readyText(config, await describeJudges(judges.registry.judges), url));
      isReady = true;
      if (isReloadWanted) reload();
      const { signal } = watching;
      if (options.watch) void watch({ paths, first, load: reloader.reload, signal });
      log.closing({ signal: await ended });
      draining = true;
      graceMs = server.shutdownGraceMs;
      const lastCallMs = Math.min(lameDuckMs, graceMs / 4);
      await terminal.sleep(lastCallMs);
      graceMs -= lastCallMs;
    }
  } finally {
    watching.abort();
    await listening.close(graceMs - Math.min(endMs, graceMs / 4));
    await reloader.close();
  }
}

/**
 * Collects once, some time after the last call: after large bodies V8 keeps hundreds of megabytes for as long
 * as no requests come, since without them it collects nothing.
 */
function delayedCollector(): () => void {
  const collect = garbageCollector();
  let timer: NodeJS.Timeout | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(collect, collectDelayMs).unref();
  };
}

/** Every file whose change means other judges; of a configuration that cannot be read, the configuration alone. */
async function filesOf(readConfig: () => Config, { configFile }: ServeOptions): Promise<string[]> {
  const own = configFile === undefined ? [] : [configFile];
  try {
    const { judges, encoders } = readConfig();
    const names = ["router.json", "router.safetensors", "selftest.json"];
    const checkpoints = judges.flatMap(({ checkpoint: path }) =>
      isTorchFile(path) ? [path, torchSelftest(path)] : names.map((name) => join(path, name)),
    );
    return [...own, ...checkpoints, ...(await Promise.all(encoders.map(encoderFiles))).flat()];
  } catch {
    return own;
  }
}

function logTarget({ log }: Config, terminal: Terminal): LogTarget {
  if (log.file === null) return standardErrorTarget(terminal.errorIsTerminal);
  try {
    // without O_NONBLOCK a pipe that nobody reads would keep the start for ever
    const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
    const descriptor = openSync(log.file, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
    // a full disk shows at the first line only
    writeSync(descriptor, '{"level":30,"msg":"starting"}\n');
    return createLineFile(descriptor);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError(
      "config",
      {
        found: `log.file: ${log.file} cannot be written (${code})`,
        remedy: "name a file in a writable folder",
      },
      {
        cause: error,
      },
    );
  }
}

interface DescribedJudge {
  readonly id: string;
  readonly notice: string | null;
  /** rows, date and AUC of its head */
  readonly trained: string;
}

async function describeJudges(judges: readonly Judge[]): Promise<DescribedJudge[]> {
  const described = judges.map(async ({ id, checkpoint }) => {
    const trained = printable(headFactsText(await headFacts(checkpoint)));
    return { id, notice: checkpoint.notice, trained };
  });
  return await Promise.all(described);
}

function readyText(config: Config, judges: readonly DescribedJudge[], url: string): string {
  const notices = judges.flatMap(({ id, notice }) => (notice === null ? [] : [`${id}: ${notice}`]));
  const indent = (text: string) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => (line === "" ? "" : `  ${line}`))
      .join("\n");
  return `
prefill-judge is ready on ${url}
judges: ${judges.map(({ id }) => id).join(", ")}
${indent(judges.map(({ id, trained }) => `${id}: ${trained}`).join("\n"))}

Ask it:
${indent(curlLine(url, judges[0]!.id))}

routes.toml for Switchyard:
${indent(routesToml(config, url))}
${notices.length > 0 ? `\nBefore you trust it:\n${indent(notices.join("\n"))}\n` : ""}`;
}
