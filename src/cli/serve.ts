// `serve`: listens, loads, says what to paste, and ends cleanly on SIGTERM or Ctrl-C.
import { openSync } from "node:fs";
import { composeApp, composeJudges } from "../compose.js";
import type { Config } from "../config.js";
import { JudgeError } from "../errors.js";
import { listen } from "../http/listen.js";
import { createLog, fileTarget, type LogTarget, standardErrorTarget } from "../observe/log.js";
import { createMetrics } from "../observe/metrics.js";
import { baseUrl, curlLine, routesToml } from "./routes-text.js";
import type { Terminal } from "./terminal.js";

/** New requests are still answered for so long after the signal, while the router learns that this server is ending. */
const lameDuckMs = 500;

/**
 * Serves until a signal ends it.
 *
 * @throws JudgeError when the address, the log, a checkpoint or an encoder is not to be had; nothing is left running
 */
export async function serve(config: Config, terminal: Terminal): Promise<void> {
  const { server } = config;
  const log = createLog(logTarget(config, terminal), config.log.level);
  const observers = { log, metrics: createMetrics() };
  const judges = await composeJudges(config, terminal.packageRoot, observers);
  let draining = false;
  const app = composeApp({ judges, config, observers, version: terminal.version, draining: () => draining });
  const listening = await listen(app, server);
  log.listening({ host: listening.host, port: listening.port });
  if (server.keys.length === 0 && !isLoopback(server.host)) log.open({ host: server.host });
  const ended = terminal.nextSignal();
  let graceMs = 0;
  try {
    const signal = await Promise.race([judges.start(), ended]);
    if (signal === undefined) {
      terminal.print(readyText(config, judges.registry.judges, baseUrl(listening.host, listening.port)));
      log.closing({ signal: await ended });
      draining = true;
      graceMs = server.shutdownGraceMs;
      await terminal.sleep(Math.min(lameDuckMs, graceMs / 2));
    }
  } finally {
    await listening.close(graceMs);
    await judges.close();
  }
}

function logTarget({ log }: Config, terminal: Terminal): LogTarget {
  if (log.file === null) return standardErrorTarget(terminal.errorIsTerminal);
  try {
    return fileTarget(openSync(log.file, "a", 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError(
      "config",
      `log.file: ${log.file} cannot be written (${code}); name a file in a writable folder`,
      {
        cause: error,
      },
    );
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

function readyText(
  config: Config,
  judges: readonly { id: string; checkpoint: { notice: string | null } }[],
  url: string,
): string {
  const notices = judges.flatMap(({ id, checkpoint }) =>
    checkpoint.notice === null ? [] : [`${id}: ${checkpoint.notice}`],
  );
  const indent = (text: string) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => (line === "" ? "" : `  ${line}`))
      .join("\n");
  return `
prefill-judge is ready on ${url}
judges: ${judges.map(({ id }) => id).join(", ")}

Ask it:
${indent(curlLine(url, judges[0]!.id))}

routes.toml for Switchyard:
${indent(routesToml(config, url))}
${notices.length > 0 ? `\nBefore you trust it:\n${indent(notices.join("\n"))}\n` : ""}`;
}
