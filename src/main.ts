#!/usr/bin/env node
// The command line: runs one command, turns a fault into one line and an exit code. Only this file ends the process.
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { addCheckpointCommands } from "./cli/commands-checkpoint.js";
import { addLabelCommands } from "./cli/commands-labels.js";
import { addServeCommands } from "./cli/commands-serve.js";
import { isNewEnough } from "./cli/node-version.js";
import { createTerminal } from "./cli/terminal.js";
import { JudgeError } from "./errors.js";

const packageRoot = new URL("../../", import.meta.url);
const { version, engines } = JSON.parse(readFileSync(new URL("package.json", packageRoot), "utf8")) as {
  version: string;
  engines: { node: string };
};
const terminal = createTerminal(packageRoot, version, process.env.TERM);
/** of a command that did what it should */
let exitCode = 0;

const program = new Command("prefill-judge")
  .description("Answers an LLM router's judge requests with one prefill of a small encoder.")
  .version(version)
  .exitOverride()
  .showSuggestionAfterError();

addServeCommands(program, terminal, () => {
  exitCode = 1;
});
addCheckpointCommands(program, terminal);
addLabelCommands(program, terminal);

async function main(): Promise<number> {
  try {
    // before a command is imported: an older Node does not even link it
    if (!isNewEnough(process.versions.node, engines.node)) {
      const finding = `found Node ${process.versions.node}, wanted ${engines.node}`;
      throw new JudgeError("usage", `${finding}; install a newer Node`);
    }
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof JudgeError) {
      terminal.note(`prefill-judge: ${error.message}`);
      return 2;
    }
    terminal.note(`prefill-judge: internal error: ${error instanceof Error ? error.stack : String(error)}`);
    return 1;
  }
}

process.stderr.on("error", () => {});
// whoever reads the output has left, as `head` does
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
process.exitCode = await main();
