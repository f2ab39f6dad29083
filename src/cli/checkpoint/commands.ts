// The commands about checkpoints.
import { type Command, Option } from "commander";
import { writableFormats } from "../../checkpoint/checkpoint-content.js";
import { JudgeError } from "../../errors.js";
import {
  acceptEncoder,
  chatTemplateKwargs,
  configOf,
  encoderFlags,
  withSettings,
} from "../command-options.js";
import type { Terminal } from "../terminal.js";
import type { ConvertCommand } from "./convert.js";
import type { VerifyOptions } from "./verify.js";

export function addCheckpointCommands(program: Command, terminal: Terminal): void {
  program
    .command("inspect")
    .description("say what a checkpoint is")
    .argument("[path]", "folder with router.json, or .pt file")
    .option("--json", "as JSON")
    .option("--schema", "print the JSON Schema of router.json, format 2")
    .action(async (path: string | undefined, options: { json?: boolean; schema?: boolean }) => {
      const { inspect, printSchema } = await import("./inspect.js");
      if (options.schema === true) printSchema(terminal);
      else if (path === undefined)
        throw new JudgeError("usage", {
          found: "nothing to inspect",
          remedy: "give the path of a checkpoint",
        });
      else await inspect(path, { json: options.json === true }, terminal);
    });

  withSettings(program.command("convert").description("write a checkpoint in another format"), encoderFlags)
    .argument("<in>", "folder with router.json, or .pt file")
    .argument("<out>", "folder; NAME.pt for switchyard-0.3.0")
    .addOption(
      new Option("--format <format>", "of the result").choices(writableFormats).default("router-json-2"),
    )
    .option(...chatTemplateKwargs)
    .option(
      "--selftest [file]",
      "make the selftest anew on --encoder, of these prompts (as in train); without a file, of those it has",
    )
    .option("--encoder <folder>", "folder with model.onnx, or a configured encoder; for --selftest")
    .option(...acceptEncoder)
    .action(async (input: string, output: string, options: ConvertCommand, command) => {
      const { convert } = await import("./convert.js");
      const config = options.selftest === undefined ? null : configOf(command, terminal);
      await convert({ input, output, config }, options, terminal);
    });

  withSettings(
    program.command("verify").description("run a checkpoint on an encoder and compare with reference values"),
    encoderFlags,
  )
    .argument("<path>", "folder with router.json, or .pt file")
    .requiredOption("--encoder <folder>", "folder with model.onnx, or a configured encoder")
    .option(...acceptEncoder)
    .option("--prompts <file>", 'JSON lines with "prompt" and "probabilities"; without it, the selftest')
    .action(async (checkpoint: string, options: Omit<VerifyOptions, "checkpoint">, command) => {
      const { verify } = await import("./verify.js");
      await verify(configOf(command, terminal), { ...options, checkpoint }, terminal);
    });
}
