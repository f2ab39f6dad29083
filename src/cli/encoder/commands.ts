// The commands about encoders.
import type { Command } from "commander";
import { JudgeError } from "../../errors.js";
import { configOf, encoderFlags, withSettings } from "../command-options.js";
import type { Terminal } from "../terminal.js";

export function addEncoderCommands(program: Command, terminal: Terminal): void {
  const encoder = program.command("encoder").description("make encoders");
  withSettings(
    encoder.command("prepare").description("make an encoder's folder out of a public ONNX export"),
    encoderFlags,
  )
    .argument("<model>", "folder with model.onnx (or onnx/model.onnx), tokenizer.json and config.json")
    .argument("<out>", "the folder to write")
    .option(
      "--layers <list>",
      "hidden states to give, such as 10,13; 0 = embeddings, k = output of block k",
      layersOf,
    )
    .option("--keep-until <layer>", "all hidden states up to this one", layersOf)
    .option("--file <file>", "the model's file in the folder, such as onnx/model_q4.onnx")
    .option("--source <name>", "what the folder says it was made of, such as org/model@revision")
    .action(async (input: string, output: string, options: PrepareFlags, command) => {
      const { prepare } = await import("./prepare.js");
      const { file, source } = options;
      await prepare(
        configOf(command, terminal),
        { input, output, file, source, layers: chosen(options) },
        terminal,
      );
    });
}

interface PrepareFlags {
  readonly layers?: readonly number[];
  readonly keepUntil?: readonly number[];
  readonly file?: string;
  readonly source?: string;
}

function chosen({ layers, keepUntil }: PrepareFlags): number[] {
  if ((layers === undefined) === (keepUntil === undefined))
    throw new JudgeError("usage", { found: "give either --layers or --keep-until" });
  if (layers !== undefined) return [...new Set(layers)].sort((a, b) => a - b);
  return Array.from({ length: keepUntil![0]! + 1 }, (_, layer) => layer);
}

/** @throws JudgeError `usage` for what are no layers */
function layersOf(text: string): number[] {
  if (/^\d{1,4}(,\d{1,4})*$/.test(text)) return text.split(",").map(Number);
  throw new JudgeError("usage", { found: `found ${text}`, wanted: "layers such as 10,13" });
}
