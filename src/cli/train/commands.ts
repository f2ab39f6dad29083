// The commands about labels: importing them, training on them, and measuring a judge with them.
import { type Command, Option } from "commander";
import { poolingModes } from "../../features/pooling.js";
import { collect, configOf, countOf, numberOf, withLabels, withTrainInput } from "../command-options.js";
import type { CalibrateCommand } from "../labels/calibrate.js";
import type { EvaluateCommand } from "../labels/evaluate.js";
import type { Terminal } from "../terminal.js";
import type { SweepCommand } from "./sweep.js";
import type { TrainCommand } from "./train.js";

/** @param onFailure told of a command that ran and did not reach what it was for */
export function addLabelCommands(program: Command, terminal: Terminal, onFailure: () => void): void {
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
      const { importRoutellmCommand } = await import("../labels/import.js");
      await importRoutellmCommand(clone, output, terminal);
    });

  withTrainInput(
    program.command("sweep").description("compare layers, pooling and PCA sizes before a training"),
  )
    .option(
      "--layers <indices...>",
      "hidden states; without it, all that the encoder gives",
      collect(numberOf),
    )
    .addOption(new Option("--pooling <modes...>", "over the tokens; without it, all").choices(poolingModes))
    .option("--pca <sizes...>", "without it, 50 100 150 200 300 as far as the rows allow", collect(countOf))
    .option("--seed <number>", "of the bootstrap", numberOf, 1)
    .option("--json", "as JSON")
    .action(async (options: SweepCommand, command) => {
      const { sweepCommand } = await import("./sweep.js");
      await sweepCommand(configOf(command, terminal), { ...options, json: options.json === true }, terminal);
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
      const { trainCommand } = await import("./train.js");
      await trainCommand(configOf(command, terminal), options, terminal);
    });

  withLabels(program.command("evaluate").description("say how good a judge is on labelled prompts"))
    .option("--against <paths...>", "other checkpoints, or recorded scores (.jsonl with id and p_solve)", [])
    .option("--threshold <number>", "of the decisions", numberOf, 0.8)
    .option("--errors <file>", "write the wrong decisions as CSV")
    .action(async (options: EvaluateCommand, command) => {
      const { evaluateCommand } = await import("../labels/evaluate.js");
      await evaluateCommand(
        configOf(command, terminal),
        { ...options, json: options.json === true },
        terminal,
      );
    });

  withLabels(program.command("calibrate").description("choose a route's base_threshold"))
    .option("--target-weak-share <share>", "so many requests for the weak model", numberOf)
    .option("--min-accuracy <share>", "as many for the weak model as this accuracy allows", numberOf)
    .option("--max-cost <cost>", "a request costs at most this on average", numberOf)
    .option("--weak <output>", "the weak model in the labels; without it, the judge's own output")
    .option("--strong <output>", "the strong model in the labels: accuracy is then that of the route")
    .action(async (options: CalibrateCommand, command) => {
      const { calibrateCommand } = await import("../labels/calibrate.js");
      const isReached = await calibrateCommand(
        configOf(command, terminal),
        { ...options, json: options.json === true },
        terminal,
      );
      if (!isReached) onFailure();
    });
}
