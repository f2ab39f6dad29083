#!/usr/bin/env node
// The command line: parses arguments, runs one command, turns a fault into one line and an exit code. Only this file
// ends the process.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Command, CommanderError, Option } from "commander";
import { type WritableFormat, writableFormats } from "./checkpoint/content.js";
import type { CalibrateCommand } from "./cli/calibrate.js";
import type { EvaluateCommand } from "./cli/evaluate.js";
import { baseUrl, routesToml } from "./cli/routes-text.js";
import type { SweepCommand } from "./cli/sweep.js";
import { createTerminal } from "./cli/terminal.js";
import type { TrainCommand } from "./cli/train.js";
import { type Config, loadConfig } from "./config.js";
import { configFileVariable, settings } from "./config-schema.js";
import { JudgeError } from "./errors.js";

const packageRoot = new URL("../../", import.meta.url);
const { version } = JSON.parse(readFileSync(new URL("package.json", packageRoot), "utf8")) as {
  version: string;
};
const terminal = createTerminal(packageRoot, version);

// Commands are imported when they run: starting is quick only with what it needs.

/** The settings as options of a command; their values go to the schema unparsed. */
function withSettings(command: Command): Command {
  command.option("--config <file>", `TOML configuration (env ${configFileVariable})`);
  for (const { flag, env, path } of settings) {
    command.addOption(new Option(`${flag} <value>`, `${path.join(".")} (env ${env})`));
  }
  return command;
}

function configOf(command: Command): Config {
  const options = command.optsWithGlobals<Record<string, string>>();
  const flags = Object.fromEntries(
    command.options.map((option) => [option.long ?? "", options[option.attributeName()]]),
  );
  return loadConfig({
    file: options.config,
    env: process.env,
    flags,
    packageRoot: fileURLToPath(packageRoot),
  });
}

const program = new Command("prefill-judge")
  .description("Answers an LLM router's judge requests with one prefill of a small encoder.")
  .version(version)
  .exitOverride()
  .showSuggestionAfterError();

withSettings(program.command("serve").description("serve the configured judges over HTTP"))
  .option("--watch", "load the judges anew when a file changes that they are made of")
  .action(async (_, command) => {
    const { serve } = await import("./cli/serve.js");
    const { watch, config } = command.opts() as { watch?: boolean; config?: string };
    const configFile = config ?? process.env[configFileVariable];
    await serve(() => configOf(command), { watch: watch === true, configFile }, terminal);
  });

withSettings(program.command("score").description("judge a prompt, or a file of prompts, and exit"))
  .argument("[prompt]", "the prompt; without it and without --file, standard input")
  .option("--file <file>", 'JSON lines with a string "prompt"; prints one JSON line each')
  .option("--judge <name>", "id or alias of the judge")
  .action(async (prompt: string | undefined, options: { file?: string; judge?: string }, command) => {
    const { score } = await import("./cli/score.js");
    await score(configOf(command), { prompt, file: options.file, judge: options.judge }, terminal);
  });

const routes = withSettings(
  program.command("routes").description("print Switchyard's routes.toml for the configuration"),
).action((_, command) => {
  const config = configOf(command);
  terminal.print(routesToml(config, baseUrl(config.server.host, config.server.port)));
});

withSettings(routes.command("check").description("say what is wrong for this judge in a Switchyard file"))
  .argument("<file>", "routes.toml")
  .action(async (file: string, _, command) => {
    const { checkRoutes } = await import("./cli/routes-check.js");
    const findings = checkRoutes(file, readText(file), configOf(command));
    for (const { line, severity, message } of findings)
      terminal.print(`${file}:${line}: ${severity}: ${message}`);
    if (findings.length === 0) terminal.print(`${file}: nothing to change`);
    const errors = findings.filter(({ severity }) => severity === "error").length;
    if (errors > 0) throw new JudgeError("usage", `${file}: ${errors} error(s); change the lines above`);
  });

program
  .command("inspect")
  .description("say what a checkpoint is")
  .argument("[path]", "folder with router.json, or .pt file")
  .option("--json", "as JSON")
  .option("--schema", "print the JSON Schema of router.json, format 2")
  .action(async (path: string | undefined, options: { json?: boolean; schema?: boolean }) => {
    const { inspect, printSchema } = await import("./cli/inspect.js");
    if (options.schema === true) printSchema(terminal);
    else if (path === undefined)
      throw new JudgeError("usage", "nothing to inspect; give the path of a checkpoint");
    else await inspect(path, { json: options.json === true }, terminal);
  });

program
  .command("convert")
  .description("write a checkpoint in another format")
  .argument("<in>", "folder with router.json, or .pt file")
  .argument("<out>", "folder; NAME.pt for switchyard-0.3.0")
  .addOption(
    new Option("--format <format>", "of the result").choices(writableFormats).default("router-json-2"),
  )
  .action(async (input: string, output: string, options: { format: WritableFormat }) => {
    const { convert } = await import("./cli/convert.js");
    await convert(input, output, options.format, terminal);
  });

withSettings(
  program.command("verify").description("run a checkpoint on an encoder and compare with reference values"),
)
  .argument("<path>", "folder with router.json, or .pt file")
  .requiredOption("--encoder <folder>", "folder with model.onnx")
  .option("--prompts <file>", 'JSON lines with "prompt" and "probabilities"; without it, the selftest')
  .action(async (checkpoint: string, options: { encoder: string; prompts?: string }, command) => {
    const { verify } = await import("./cli/verify.js");
    await verify(
      configOf(command),
      { checkpoint, encoder: options.encoder, prompts: options.prompts },
      terminal,
    );
  });

program
  .command("labels")
  .description("make label files")
  .command("import")
  .description("bring the records of another project into label rows")
  .command("routellm")
  .description("from a clone of the RouteLLM repository: MMLU and GSM8K, one label per model")
  .argument("<clone>", "folder of the clone")
  .argument("<out>", "JSON lines to write")
  .action(async (clone: string, output: string) => {
    const { importRoutellmCommand } = await import("./cli/labels-import.js");
    await importRoutellmCommand(clone, output, terminal);
  });

function withLabels(command: Command): Command {
  return withSettings(command)
    .requiredOption("--labels <file>", "CSV (question,model,isCorrect) or JSON lines (prompt, labels)")
    .option("--judge <name>", "a configured judge; without it and without --checkpoint, the first")
    .option("--checkpoint <path>", "a checkpoint instead; needs --encoder")
    .option("--encoder <folder>", "folder with model.onnx, or a configured encoder")
    .option("--split <name>", "rows of this split; without it, all but those for training")
    .option("--train-split <name>", "rows the judge was trained on", "train")
    .option("--costs <file>", "cost of a request by output, TOML or JSON; without it, the checkpoint's")
    .option("--seed <number>", "of the bootstrap", numberOf, 1)
    .option("--json", "as JSON");
}

/** @throws JudgeError `usage` for what is no number */
function numberOf(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new JudgeError("usage", `found "${text}", wanted a number`);
}

/** @throws JudgeError `usage` for what is no number of things */
function countOf(text: string): number {
  const value = numberOf(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new JudgeError("usage", `found "${text}", wanted a whole number above 0`);
}

/** For options that take several values. */
function collect<T>(parse: (text: string) => T): (text: string, before?: T[]) => T[] {
  return (text, before = []) => [...before, parse(text)];
}

const poolingModes = ["mean", "last"];

function withTrainInput(command: Command): Command {
  return withSettings(command)
    .requiredOption("--labels <file>", "CSV (question,model,isCorrect) or JSON lines (prompt, labels)")
    .requiredOption("--encoder <folder>", "folder with model.onnx, or a configured encoder")
    .option("--train-split <name>", "rows of this split; where the file has none, all rows", "train")
    .option("--max-tokens <number>", "of a prompt", countOf)
    .addOption(
      new Option("--truncation <mode>", "of a longer one").choices(["middle", "right"]).default("middle"),
    )
    .option(
      "--cache <folder>",
      "features are kept here, so that a training that was cut short goes on",
      ".prefill-judge-cache",
    );
}

withTrainInput(
  program.command("sweep").description("compare layers, pooling and PCA sizes before a training"),
)
  .option("--layers <indices...>", "hidden states; without it, all that the encoder gives", collect(numberOf))
  .addOption(new Option("--pooling <modes...>", "over the tokens; without it, both").choices(poolingModes))
  .option("--pca <sizes...>", "without it, 50 100 150 200 300 as far as the rows allow", collect(countOf))
  .option("--seed <number>", "of the bootstrap", numberOf, 1)
  .option("--json", "as JSON")
  .action(async (options: SweepCommand, command) => {
    const { sweepCommand } = await import("./cli/sweep.js");
    await sweepCommand(configOf(command), { ...options, json: options.json === true }, terminal);
  });

withTrainInput(program.command("train").description("make a judge from labelled prompts"))
  .requiredOption("--layer <index>", "hidden state: 0 = embeddings, k = output of block k", numberOf)
  .addOption(new Option("--pooling <mode>", "over the tokens").choices(poolingModes).default("mean"))
  .option("--pca <size>", "features that the head reads", countOf, 50)
  .requiredOption("--out <folder>", "the checkpoint to write")
  .option("--costs <file>", "cost of a request by output, TOML or JSON; kept in the checkpoint")
  .option(
    "--selftest <file>",
    "prompts for the selftest, one a line (.jsonl: with prompt); without it, the shortest of the labels",
  )
  .option("--no-calibration", "leave the probabilities as the ensemble gives them")
  .action(async (options: TrainCommand, command) => {
    const { trainCommand } = await import("./cli/train.js");
    await trainCommand(configOf(command), options, terminal);
  });

withLabels(program.command("evaluate").description("say how good a judge is on labelled prompts"))
  .option("--against <paths...>", "other checkpoints, or recorded scores (.jsonl with id and p_solve)", [])
  .option("--threshold <number>", "of the decisions", numberOf, 0.8)
  .option("--errors <file>", "write the wrong decisions as CSV")
  .action(async (options: EvaluateCommand, command) => {
    const { evaluateCommand } = await import("./cli/evaluate.js");
    await evaluateCommand(configOf(command), { ...options, json: options.json === true }, terminal);
  });

withLabels(program.command("calibrate").description("choose a route's base_threshold"))
  .option("--target-weak-share <share>", "so many requests for the weak model", numberOf)
  .option("--min-accuracy <share>", "as many for the weak model as this accuracy allows", numberOf)
  .option("--max-cost <cost>", "a request costs at most this on average", numberOf)
  .option("--weak <output>", "the weak model in the labels; without it, the judge's own output")
  .option("--strong <output>", "the strong model in the labels: accuracy is then that of the route")
  .action(async (options: CalibrateCommand, command) => {
    const { calibrateCommand } = await import("./cli/calibrate.js");
    await calibrateCommand(configOf(command), { ...options, json: options.json === true }, terminal);
  });

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError("usage", `${file} cannot be read (${code}); give the path of a file`, {
      cause: error,
    });
  }
}

async function main(): Promise<number> {
  try {
    await program.parseAsync();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof JudgeError) {
      process.stderr.write(`prefill-judge: ${error.message}\n`);
      return 2;
    }
    process.stderr.write(
      `prefill-judge: internal error: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
    return 1;
  }
}

// whoever reads the output has left, as `head` does
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
process.exitCode = await main();
