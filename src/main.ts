#!/usr/bin/env node
// Runs the command line and turns a fault into one line and an exit code. Only this file ends the process; it
// imports little, so that it is there to speak when the rest cannot be loaded.
import { readFileSync } from "node:fs";
import { limitFinding } from "./cli/process-limits.js";
import { createTerminal } from "./cli/terminal.js";
import { isNewEnough } from "./doctor/node-version.js";
import { JudgeError } from "./errors.js";

const packageRoot = new URL("../../", import.meta.url);
const { version, engines } = JSON.parse(readFileSync(new URL("package.json", packageRoot), "utf8")) as {
  version: string;
  engines: { node: string };
};
const terminal = createTerminal(packageRoot, version, process.env.TERM);

async function main(): Promise<number> {
  try {
    // before a command is imported: an older Node does not even link it
    if (!isNewEnough(process.versions.node, engines.node)) {
      const finding = `found Node ${process.versions.node}, wanted ${engines.node}`;
      throw new JudgeError("usage", { found: finding, remedy: "install a newer Node" });
    }
    const { runCommand } = await import("./cli/command-line.js");
    return await runCommand(terminal);
  } catch (error) {
    return explain(error);
  }
}

function explain(error: unknown): number {
  const finding = error instanceof JudgeError ? error.message : limitFinding(error);
  if (finding !== null) {
    terminal.note(`prefill-judge: ${finding}`);
    return 2;
  }
  terminal.note(`prefill-judge: internal error: ${error instanceof Error ? error.stack : String(error)}`);
  return 1;
}

process.stderr.on("error", () => {});
// whoever reads the output has left, as `head` does
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
// of several parts that Node loads at once only the first fault comes back to us
process.on("uncaughtException", (error) => process.exit(explain(error)));
process.exitCode = await main();
