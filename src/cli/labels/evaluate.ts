// `evaluate`: how good a judge is on labelled prompts, against floors, other checkpoints and recorded scores.
import { dirname } from "node:path";
import { saveFile } from "../../checkpoint/save.js";
import { trySaving } from "../../checkpoint/save-trial.js";
import type { Config } from "../../config/config.js";
import { JudgeError } from "../../errors.js";
import { type EvaluateInput, evaluate, type Predictions } from "../../evaluate/evaluate.js";
import { parseScores } from "../../evaluate/scores.js";
import { listWrongDecisions } from "../../evaluate/wrong-decisions.js";
import type { Judge } from "../../judge/judge-parts.js";
import { writeCsv } from "../../labels/csv.js";
import { isJsonLines } from "../../labels/file-form.js";
import { checkSplits, readLabels } from "../../labels/label-file.js";
import type { LabelRow } from "../../labels/label-row.js";
import { type Labels, withOutputs } from "../../labels/labels.js";
import { inFile, readText } from "../../labels/read-text.js";
import { countLabels } from "../../labels/report.js";
import { fitFloors } from "../../train/floors.js";
import { chosenEnvelopes, type JudgeChoice, withChosenJudge } from "../chosen-judges.js";
import { predict } from "../score-rows.js";
import type { Terminal } from "../terminal.js";
import { answerNotes } from "./answer-notes.js";
import { applyCosts, type CostsFile, readCosts } from "./costs-file.js";
import { renderReport } from "./evaluate-report.js";
import { type MeasuredChoice, measuredRows, trainedRows } from "./measured-rows.js";

export interface EvaluateCommand extends JudgeChoice, MeasuredChoice {
  readonly labels: string;
  /** checkpoints on the same encoder, or files of recorded scores (.jsonl) */
  readonly against: readonly string[];
  readonly threshold: number;
  /** file of costs by output; without it, the checkpoint's */
  readonly costs?: string | undefined;
  readonly seed: number;
  /** CSV file for the wrong decisions of the judge's own output */
  readonly errors?: string | undefined;
  readonly json: boolean;
}

type Judges = readonly [Judge, ...Judge[]];

/** What is evaluated, and on what; the judge and all others see the same. */
interface Task {
  readonly labels: Labels;
  readonly outputNames: readonly string[];
  readonly rows: readonly LabelRow[];
  /** null: not known */
  readonly trainRows: readonly LabelRow[] | null;
  /** place of the judge's own output, else the first */
  readonly ownOutput: number;
}

/** @throws JudgeError `usage` for labels or costs that do not fit, or rows that were trained on */
export async function evaluateCommand(
  config: Config,
  options: EvaluateCommand,
  terminal: Terminal,
): Promise<void> {
  const labels = await readLabels(options.labels, await chosenEnvelopes(config, options));
  checkSplits(labels, options, options.labels);
  if (options.errors !== undefined) await trySaving(dirname(options.errors));
  for (const note of answerNotes(countLabels(labels.rows, labels.outputNames))) terminal.note(note);
  const costsFile = options.costs === undefined ? null : await readCosts(options.costs);
  const others = options.against.filter((path) => !isJsonLines(path));
  const report = await withChosenJudge(config, { ...options, others }, async (...judges) => {
    const task = createTask(labels, judges, { options, terminal });
    const costs = await costsOf(judges[0], task, costsFile);
    const predictions = await predictAll(judges, task, { options, terminal });
    const { seed, threshold } = options;
    const report = evaluate({ ...task, ...predictions }, { seed, threshold, costs });
    if (options.errors !== undefined) {
      const p = predictions.judge.byOutput[task.ownOutput]!;
      const wrong = listWrongDecisions(task.rows, p, { output: task.ownOutput, threshold });
      await saveFile(options.errors, new TextEncoder().encode(writeCsv(wrong)));
    }
    return report;
  });
  terminal.print(options.json ? JSON.stringify(report, null, 2) : renderReport(report));
}

function createTask(
  labels: Labels,
  [judge, ...others]: Judges,
  { options, terminal }: { options: EvaluateCommand; terminal: Terminal },
): Task {
  const labelled = { file: options.labels, outputNames: labels.outputNames };
  const outputNames = commonOutputs(labelled, judge, "the judge");
  for (const other of others) commonOutputs({ ...labelled, outputNames }, other, other.checkpoint.path);
  const all = withOutputs(labels, outputNames);
  const trainRows = trainedRows(all, options);
  return {
    labels,
    outputNames,
    rows: measuredRows({ rows: all }, options, terminal),
    trainRows: trainRows.length === 0 ? null : trainRows,
    ownOutput: Math.max(0, outputNames.indexOf(judge.output)),
  };
}

/** By output; the file's before the checkpoint's; null where neither has any. */
async function costsOf(
  { checkpoint, encoder }: Judge,
  { labels, outputNames, rows }: Task,
  file: CostsFile | null,
): Promise<number[] | null> {
  const known = [...labels.outputNames, ...checkpoint.head.outputNames];
  const texts = rows.map(({ text }) => text);
  const costs =
    file === null
      ? checkpoint.costs
      : await applyCosts(file, { outputs: outputNames, known, labels, texts }, encoder);
  return costs && outputNames.map((name) => costs[name]!);
}

/** The judge's predictions, and those of floors, other checkpoints and recorded scores. */
async function predictAll(
  judges: Judges,
  { outputNames, rows, trainRows, ownOutput }: Task,
  { options, terminal }: { options: EvaluateCommand; terminal: Terminal },
): Promise<Pick<EvaluateInput, "judge" | "against">> {
  const scores = await readScores(options.against.filter(isJsonLines), { rows, outputNames }, ownOutput);
  const texts = rows.map(({ text }) => text);
  const [own, ...others] = (await predict(judges, texts, terminal)).map((byName, index): Predictions => {
    const { id, checkpoint } = judges[index]!;
    return {
      name: index === 0 ? `${id} ${checkpoint.hash}` : checkpoint.path,
      byOutput: outputNames.map((name) => byName.get(name) ?? null),
    };
  });
  const floors = trainRows === null ? [] : fitFloors(trainRows, outputNames.length);
  const byPath = new Map([...scores, ...others].map((predictions) => [predictions.name, predictions]));
  const against = [
    ...floors.map((floor): Predictions => ({ name: floor.name, byOutput: floor.predict(rows) })),
    ...options.against.map((path) => byPath.get(path)!),
  ];
  return { judge: own!, against };
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
  throw new JudgeError("usage", {
    found: `${file} labels ${outputNames.join(", ")}, ${who} predicts ${predicted.join(", ")}`,
    remedy: "name the outputs alike",
  });
}

/** @throws JudgeError `usage` naming the file */
async function readScores(
  files: readonly string[],
  task: Pick<Task, "rows" | "outputNames">,
  pSolveOutput: number,
): Promise<Predictions[]> {
  const read = files.map(async (file): Promise<Predictions> => {
    const content = await readText(file);
    return { name: file, byOutput: inFile(file, () => parseScores(content, task, pSolveOutput)) };
  });
  return await Promise.all(read);
}
