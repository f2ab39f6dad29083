// `serve`: listens, loads, says what to paste, and ends cleanly on SIGTERM or Ctrl-C.
import { composeApp, composeJudges } from "../compose.js";
import type { Config } from "../config.js";
import { listen } from "../http/listen.js";
import { createLog, standardErrorTarget } from "../observe/log.js";
import { baseUrl, curlLine, routesToml } from "./routes-text.js";
import type { Terminal } from "./terminal.js";

/**
 * Serves until a signal ends it.
 *
 * @throws JudgeError when the address, a checkpoint or an encoder is not to be had; nothing is left running
 */
export async function serve(config: Config, terminal: Terminal): Promise<void> {
  const log = createLog(standardErrorTarget(terminal.errorIsTerminal));
  const judges = await composeJudges(config, terminal.packageRoot, log);
  const listening = await listen(composeApp(judges, config, log), config.server);
  log.listening({ host: listening.host, port: listening.port });
  const ended = terminal.nextSignal();
  try {
    const signal = await Promise.race([judges.start(), ended]);
    if (signal === undefined) {
      terminal.print(readyText(config, judges.registry.judges, baseUrl(listening.host, listening.port)));
      log.closing({ signal: await ended });
    }
  } finally {
    await listening.close();
    await judges.close();
  }
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
