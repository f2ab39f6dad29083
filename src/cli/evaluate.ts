// `evaluate`: how good a judge is on labelled prompts, against floors, other checkpoints and recorded scores.
import { writeFile } from "node:fs/promises";
import type { Config } from "../config.js";
import { JudgeError } from "../errors.js";
import type { Judge } from "../judge/judge.js";
import { writeCsv } from "../train/csv.js";
import { type EvaluationReport, evaluate, type Predictions } from "../train/evaluate.js";
import { fitFloors } from "../train/floors.js";
import { type LabelRow, type Labels, withOutputs } from "../train/labels.js";
import { parseScores } from "../train/scores.js";
import { listWrongDecisions } from "../train/wrong-decisions.js";
import { type JudgeChoice, withChosenJudge } from "./chosen-judges.js";
import { renderReport } from "./evaluate-report.js";
import { inEvaluatedSplit, readLabels, readText, type SplitChoice } from "./label-file.js";
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

/** Labelled rows with the labels of these outputs. */
interface Evaluated {
  readonly rows: readonly LabelRow[];
  readonly outputNames: readonly string[];
}

/** @throws JudgeError `usage` for labels that do not fit, or rows that were trained on */
export async function evaluateCommand(
  config: Config,
  options: EvaluateCommand,
  terminal: Terminal,
): Promise<void> {
  const labels = await readLabels(options.labels);
  const others = options.against.filter((path) => !isScores(path));
  const report = await withChosenJudge(config, { ...options, others }, (...judges) =>
    evaluateJudges(labels, judges, { options, terminal }),
  );
  terminal.print(options.json ? JSON.stringify(report, null, 2) : renderReport(report));
}

async function evaluateJudges(
  labels: Labels,
  judges: readonly [Judge, ...Judge[]],
  { options, terminal }: { options: EvaluateCommand; terminal: Terminal },
): Promise<EvaluationReport> {
  const [judge, ...others] = judges;
  const labelled = { file: options.labels, outputNames: labels.outputNames };
  const outputNames = commonOutputs(labelled, judge, "the judge");
  for (const other of others) commonOutputs({ ...labelled, outputNames }, other, other.checkpoint.path);
  const all = withOutputs(labels, outputNames);
  const trainRows = all.filter(({ split }) => split === options.trainSplit);
  const rows = all.filter((row) => inEvaluatedSplit(row, options));
  const ownOutput = Math.max(0, outputNames.indexOf(judge.output));
  const scores = await readScores(options.against.filter(isScores), { rows, outputNames }, ownOutput);
  const texts = rows.map(({ text }) => text);
  const [judged, ...predicted] = (await predict(judges, texts, terminal)).map((byName, index) => ({
    name: index === 0 ? `${judge.id} ${judge.checkpoint.hash}` : judges[index]!.checkpoint.path,
    byOutput: outputNames.map((name) => byName.get(name) ?? null),
  }));
  const byPath = new Map([...scores, ...predicted].map((predictions) => [predictions.name, predictions]));
  const floors = trainRows.length === 0 ? [] : fitFloors(trainRows, outputNames.length);
  const against = [
    ...floors.map((floor): Predictions => ({ name: floor.name, byOutput: floor.predict(rows) })),
    ...options.against.map((path) => byPath.get(path)!),
  ];
  const { costs } = judge.checkpoint;
  const report = evaluate(
    { rows, outputNames, judge: judged!, against, trainRows: trainRows.length === 0 ? null : trainRows },
    {
      seed: options.seed,
      threshold: options.threshold,
      costs: costs && outputNames.map((name) => costs[name]!),
    },
  );
  if (options.errors !== undefined) {
    const choice = { output: ownOutput, threshold: options.threshold };
    const wrong = listWrongDecisions(rows, judged!.byOutput[ownOutput]!, choice);
    await writeFile(options.errors, writeCsv(wrong));
  }
  return report;
}

/** Those of the labelled outputs that the judge predicts, one at least. */
function commonOutputs(
  { file, outputNames }: { file: string; outputNames: readonly string[] },
  { checkpoint }: Judge,
  who: string,
): string[] {
  const predicted = checkpoint.head.outputNames;
  const common = outputNames.filter((name) => predicted.includes(name));
  if (common.length > 0) return common;
  throw new JudgeError(
    "usage",
    `${file} labels ${outputNames.join(", ")}, ${who} predicts ${predicted.join(", ")}; name the outputs alike`,
  );
}

function isScores(path: string): boolean {
  return path.endsWith(".jsonl");
}

/** @throws JudgeError `usage` naming the file */
async function readScores(
  files: readonly string[],
  evaluated: Evaluated,
  pSolveOutput: number,
): Promise<Predictions[]> {
  const read = files.map(async (file): Promise<Predictions> => {
    const content = await readText(file);
    try {
      const { byOutput } = parseScores(content, evaluated, pSolveOutput);
      return { name: file, byOutput };
    } catch (error) {
      if (!(error instanceof JudgeError)) throw error;
      throw new JudgeError("usage", `${file}: ${error.message}`, { cause: error });
    }
  });
  return await Promise.all(read);
}
