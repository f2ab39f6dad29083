// Options that several commands share, and how their values are read.
import { fileURLToPath } from "node:url";
import { type Command, Option } from "commander";
import { type Config, loadConfig } from "../config/config.js";
import { configFileVariable } from "../config/schema.js";
import { settings } from "../config/settings.js";
import { spaceRules, truncations } from "../encoder/view.js";
import { JudgeError } from "../errors.js";
import { hasPrototypeKey } from "../input/prototype-key.js";
import { envelopeRules } from "../prompt/envelope.js";
import type { Terminal } from "./terminal.js";

/** The flags of a command that runs encoders. */
export const encoderFlags = ["--threads", "--processes"];

/**
 * The configuration's file and settings as options of a command, unparsed.
 * @param flags those of the settings that the command uses; absent: all
 */
export function withSettings(command: Command, flags?: readonly string[]): Command {
  command.option("--config <file>", `TOML configuration (env ${configFileVariable})`);
  for (const { flag, env, path, description } of settings.filter(
    ({ flag }) => flags?.includes(flag) ?? true,
  )) {
    const text = `${description.replaceAll("`", "")} (${path.join(".")}, env ${env})`;
    command.addOption(new Option(`${flag} <value>`, text));
  }
  return command;
}

/**
 * @param running what is in service by now, where it is read anew
 * @throws JudgeError `config`, one line
 */
export function configOf(command: Command, { packageRoot }: Terminal, running?: Config): Config {
  const options = command.optsWithGlobals<Record<string, string>>();
  const flags = Object.fromEntries(
    command.options.map((option) => [option.long ?? "", options[option.attributeName()]]),
  );
  return loadConfig({
    file: options.config,
    env: process.env,
    flags,
    packageRoot: fileURLToPath(packageRoot),
    running,
  });
}

/** For commands that measure a judge on labels. */
export function withLabels(command: Command): Command {
  return withSettings(command, encoderFlags)
    .requiredOption("--labels <file>", "CSV (question,model,isCorrect) or JSON lines (prompt, labels)")
    .option("--judge <name>", "a configured judge; without it and without --checkpoint, the first")
    .option("--checkpoint <path>", "a checkpoint instead; needs --encoder")
    .option("--encoder <folder>", "folder with model.onnx, or a configured encoder")
    .option(...acceptEncoder)
    .option("--split <name>", "rows of this split; without it, all but those for training")
    .option("--train-split <name>", 'rows the judge was trained on; without it, those of "train"')
    .option("--drop-overlap", "leave out rows that were trained on, which are refused else")
    .option("--costs <file>", "cost of a request by output, TOML or JSON; without it, the checkpoint's")
    .option("--seed <number>", "of the bootstrap", numberOf, 1)
    .option("--json", "as JSON");
}

/** For commands that train. */
export function withTrainInput(command: Command): Command {
  return withSettings(command, encoderFlags)
    .requiredOption("--labels <file>", "CSV (question,model,isCorrect) or JSON lines (prompt, labels)")
    .requiredOption("--encoder <folder>", "folder with model.onnx, or a configured encoder")
    .option(
      "--train-split <name>",
      'rows of this split; without it, those of "train", and all where no row names a split',
    )
    .option("--max-tokens <number>", "of a prompt", countOf)
    .addOption(new Option("--truncation <mode>", "of a longer one").choices(truncations).default("middle"))
    .option(...chatTemplateKwargs)
    .addOption(
      new Option("--spaces <rule>", "runs of spaces in a prompt: as they are, or as one")
        .choices(spaceRules)
        .default("keep"),
    )
    .addOption(
      new Option("--envelopes <rule>", "what clients put around the user's text")
        .choices(envelopeRules)
        .default("strip"),
    )
    .option(
      "--cache <folder>",
      "features are kept here, so that a training that was cut short goes on",
      ".prefill-judge-cache",
    );
}

/** The option that takes an encoder whose model has another name than the checkpoint says. */
export const acceptEncoder = [
  "--accept-encoder <name>",
  "name of the encoder's model that is as good as the one that --checkpoint was trained on",
] as const;

/** The option that fixes the arguments of the encoder's chat template, as `commander` takes it. */
export const chatTemplateKwargs = [
  "--chat-template-kwargs <json>",
  'arguments of the chat template, such as {"date_string": "26 Jul 2024"}; kept in the checkpoint',
  objectOf,
] as const;

/** @throws JudgeError `usage` for what is no JSON object */
function objectOf(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {}
  if (typeof value === "object" && value !== null && !Array.isArray(value) && !hasPrototypeKey(value))
    return value as Record<string, unknown>;
  throw new JudgeError("usage", {
    found: `found ${text}`,
    wanted: `a JSON object such as {"date_string": "26 Jul 2024"}`,
  });
}

/** @throws JudgeError `usage` for what is no number */
export function numberOf(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new JudgeError("usage", { found: `found "${text}"`, wanted: "a number" });
}

/** @throws JudgeError `usage` for what is no number of things */
export function countOf(text: string): number {
  const value = numberOf(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new JudgeError("usage", { found: `found "${text}"`, wanted: "a whole number above 0" });
}

/** For options that take several values. */
export function collect<T>(parse: (text: string) => T): (text: string, before?: T[]) => T[] {
  return (text, before = []) => [...before, parse(text)];
}
