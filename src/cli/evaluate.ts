// `evaluate`: how good a judge is on labelled prompts, against floors, other checkpoints and recorded scores.
import { writeFile } from "node:fs/promises";
import type { Config } from "../config.js";
import { JudgeError } from "../errors.js";
import type { Judge } from "../judge/judge.js";
import { writeCsv } from "../train/csv.js";
import { evaluate, type Predictions } from "../train/evaluate.js";
import { fitFloors } from "../train/floors.js";
import { type LabelRow, withOutputs } from "../train/labels.js";
import { parseScores } from "../train/scores.js";
import { listWrongDecisions } from "../train/wrong-decisions.js";
import { renderReport } from "./evaluate-report.js";
import { inEvaluatedSplit, readLabels, readText, type SplitChoice } from "./label-file.js";
import { type JudgeChoice, withCheckpoint, withChosenJudge } from "./one-judge.js";
import { predict } from "./score-rows.js";
import type { Terminal } from "./terminal.js";

export interface EvaluateCommand extends JudgeChoice, SplitChoice {
  readonly labels: string;
  /** checkpoints on the same encoder, or files of recorded scores (.jsonl) */
  readonly against: readonly string[];
  readonly threshold: number;
  readonly seed: number;
  /** CSV file for the wrong decisions of the judge's own output */
  readonly errors?: string | undefined;
  readonly json: boolean;
}

/** @throws JudgeError `usage` for labels that do not fit, or rows that were trained on */
export async function evaluateCommand(
  config: Config,
  options: EvaluateCommand,
  terminal: Terminal,
): Promise<void> {
  const labels = await readLabels(options.labels);
  const report = await withChosenJudge(config, options, async (judge) => {
    const outputNames = labels.outputNames.filter((name) => judge.checkpoint.head.outputNames.includes(name));
    if (outputNames.length === 0) {
      const found = labels.outputNames.join(", ");
      const wanted = judge.checkpoint.head.outputNames.join(", ");
      throw new JudgeError(
        "usage",
        `${options.labels} labels ${found}, the judge predicts ${wanted}; name the outputs alike`,
      );
    }
    const all = withOutputs(labels, outputNames);
    const trainRows = all.filter(({ split }) => split === options.trainSplit);
    const rows = all.filter((row) => inEvaluatedSplit(row, options));
    const judged = await predictRows(judge, rows, outputNames, terminal);
    const floors = trainRows.length === 0 ? [] : fitFloors(trainRows, outputNames.length);
    const against = [
      ...floors.map((floor): Predictions => ({ name: floor.name, byOutput: floor.predict(rows) })),
      ...(await predictOthers(config, options, { rows, outputNames, judge }, terminal)),
    ];
    const costs = judge.checkpoint.costs;
    const report = evaluate(
      { rows, outputNames, judge: judged, against, trainRows: trainRows.length === 0 ? null : trainRows },
      {
        seed: options.seed,
        threshold: options.threshold,
        costs: costs && outputNames.map((name) => costs[name]!),
      },
    );
    if (options.errors !== undefined) {
      const output = Math.max(0, outputNames.indexOf(judge.output));
      const wrong = listWrongDecisions(rows, judged.byOutput[output]!, {
        output,
        threshold: options.threshold,
      });
      await writeFile(options.errors, writeCsv(wrong));
    }
    return report;
  });
  terminal.print(options.json ? JSON.stringify(report, null, 2) : renderReport(report));
}

async function predictRows(
  judge: Judge,
  rows: readonly LabelRow[],
  outputNames: readonly string[],
  terminal: Terminal,
) {
  const texts = rows.map(({ text }) => text);
  const byOutput = await predict(judge, texts, outputNames, terminal);
  return { name: `${judge.id} ${judge.checkpoint.hash}`, byOutput };
}

async function predictOthers(
  config: Config,
  options: EvaluateCommand,
  { rows, outputNames, judge }: { rows: readonly LabelRow[]; outputNames: readonly string[]; judge: Judge },
  terminal: Terminal,
): Promise<Predictions[]> {
  const others: Predictions[] = [];
  for (const path of options.against) {
    if (path.endsWith(".jsonl")) {
      const pSolveOutput = Math.max(0, outputNames.indexOf(judge.output));
      const { byOutput } = parseScores(await readText(path), { rows, outputNames }, pSolveOutput);
      others.push({ name: path, byOutput });
    } else {
      const encoder = options.encoder ?? judge.encoder.id;
      others.push(
        await withCheckpoint(config, { checkpoint: path, encoder }, async (other) => {
          const common = outputNames.filter((name) => other.checkpoint.head.outputNames.includes(name));
          const { byOutput } = await predictRows(other, rows, common, terminal);
          return { name: path, byOutput: outputNames.map((name) => byOutput[common.indexOf(name)] ?? null) };
        }),
      );
    }
  }
  return others;
}
