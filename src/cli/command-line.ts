// The command line: its commands, and the exit code of the one that was run.
import { Command, CommanderError } from "commander";
import { addCheckpointCommands } from "./checkpoint/commands.js";
import { addEncoderCommands } from "./encoder/commands.js";
import { addServeCommands } from "./serve/commands.js";
import type { Terminal } from "./terminal.js";
import { addLabelCommands } from "./train/commands.js";

/**
 * Runs the command that the process was started with.
 * @throws JudgeError what the command ends in
 */
export async function runCommand(terminal: Terminal): Promise<number> {
  /** of a command that did what it should */
  let exitCode = 0;
  const program = new Command("prefill-judge")
    .description("Answers an LLM router's judge requests with one prefill of a small encoder.")
    .version(terminal.version)
    .exitOverride()
    .showSuggestionAfterError();
  const onFailure = () => {
    exitCode = 1;
  };
  addServeCommands(program, terminal, onFailure);
  addCheckpointCommands(program, terminal);
  addEncoderCommands(program, terminal);
  addLabelCommands(program, terminal, onFailure);
  try {
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}
