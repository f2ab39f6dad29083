// What `serve` prints when it is ready: what to ask, and what to paste into a router's file.
import type { Config } from "../../config/config.js";
import type { Judge } from "../../judge/judge-parts.js";
import { headFacts, headFactsText, trainingWarnings } from "../checkpoint/head-facts.js";
import { curlLine, routesToml } from "../routes/routes-text.js";
import { printable } from "../terminal.js";

export async function readyText(config: Config, judges: readonly Judge[], url: string): Promise<string> {
  const trained = await Promise.all(
    judges.map(
      async ({ id, checkpoint }) => `${id}: ${printable(headFactsText(await headFacts(checkpoint)))}`,
    ),
  );
  const notices = judges.flatMap(({ id, checkpoint }) =>
    [
      ...trainingWarnings(checkpoint).map(printable),
      ...(checkpoint.notice === null ? [] : [checkpoint.notice]),
    ].map((notice) => `${id}: ${notice}`),
  );
  return `
prefill-judge is ready on ${url}
judges: ${judges.map(({ id }) => id).join(", ")}
${indented(trained.join("\n"))}

Ask it:
${indented(curlLine(url, judges[0]!.id, config.server.keys.length > 0))}

routes.toml for Switchyard:
${indented(routesToml(config, url))}
${notices.length > 0 ? `\nBefore you trust it:\n${indented(notices.join("\n"))}\n` : ""}`;
}

function indented(text: string): string {
  const lines = text.trimEnd().split("\n");
  return lines.map((line) => (line === "" ? "" : `  ${line}`)).join("\n");
}
