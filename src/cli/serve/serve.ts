// `serve`: runs a server for as long as its process is to live. SIGTERM and Ctrl-C end it, SIGHUP reloads it.
import type { Config } from "../../config/config.js";
import { garbageCollector } from "../../encoder/process/garbage-collector.js";
import { startServer } from "../../server/start.js";
import { openFileLimit } from "../process-limits.js";
import type { Terminal } from "../terminal.js";
import { logTarget } from "./log-target.js";
import { readyText } from "./ready-text.js";

/** New requests are answered for so long after the signal. */
const lastCallMs = 500;
/** Of the grace, for encoders and loads. */
const leaveMs = 500;
/** They may take as long as this where the grace is shorter; what hangs then is left. */
const leastEndMs = 2000;
/** An encoder may still hold a text whose request has its answer. */
const collectDelayMs = 5000;

export interface ServeOptions {
  /** reload when a file changes that the judges are made of */
  readonly watch: boolean;
  readonly configFile: string | undefined;
}

/**
 * Serves until a signal ends it; SIGHUP reads the configuration and the checkpoints anew.
 * @throws JudgeError when the address, the log, a checkpoint or an encoder is not to be had; nothing is left
 *   running
 */
export async function serve(
  readConfig: (running?: Config) => Config,
  { watch, configFile }: ServeOptions,
  terminal: Terminal,
): Promise<void> {
  terminal.outliveReaders();
  const { packageRoot, version } = terminal;
  const server = await startServer(readConfig, {
    ...{ packageRoot, version },
    logTarget: (log) => logTarget(log, terminal.errorIsTerminal),
    openFileLimit: openFileLimit(),
    onQuiet: delayedCollector(),
    ...(watch && { watch: { configFile } }),
  });
  const { shutdownGraceMs: graceMs } = server.config.server;
  const ended = terminal.nextSignal();
  void ended.then(() => terminal.endWithin(Math.max(graceMs, leastEndMs)));
  let isReady = false;
  let isReloadWanted = false;
  // the outcome of a reload is in the log; what changes during the first load is read after it
  const reload = () => {
    if (isReady) void server.reload().catch(() => {});
    else isReloadWanted = true;
  };
  terminal.onHangup(reload);
  let isGraceful = false;
  try {
    const signal = await Promise.race([server.load(), ended]);
    if (signal !== undefined) return;
    terminal.print(await readyText(server.config, server.judges.registry.judges, server.url));
    isReady = true;
    if (isReloadWanted) reload();
    server.log.closing({ signal: await ended });
    isGraceful = true;
  } finally {
    const quarter = graceMs / 4;
    const end = { graceMs, lastCallMs: Math.min(lastCallMs, quarter), leaveMs: Math.min(leaveMs, quarter) };
    await server.close(isGraceful ? end : undefined);
  }
}

/** Collects garbage once, some time after the last call: V8 collects nothing while no requests come. */
function delayedCollector(): () => void {
  const collect = garbageCollector();
  let timer: NodeJS.Timeout | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(collect, collectDelayMs).unref();
  };
}
