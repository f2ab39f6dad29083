// `calibrate`: the base_threshold that a route should have, from labels that the judge was not trained on.
import type { Config } from "../config.js";
import { JudgeError } from "../errors.js";
import type { Judge } from "../judge/judge.js";
import type { Estimate } from "../train/bootstrap.js";
import { withOutputs } from "../train/labels.js";
import { chooseThreshold, type ThresholdChoice, type ThresholdTarget } from "../train/threshold.js";
import { type JudgeChoice, withChosenJudge } from "./chosen-judges.js";
import { inEvaluatedSplit, readLabels, type SplitChoice } from "./label-file.js";
import { predict } from "./score-rows.js";
import type { Terminal } from "./terminal.js";

export interface CalibrateCommand extends JudgeChoice, SplitChoice {
  readonly labels: string;
  /** the strong model's output in the labels; with it, accuracy is that of the whole route */
  readonly strong?: string | undefined;
  readonly targetWeakShare?: number | undefined;
  readonly minAccuracy?: number | undefined;
  readonly maxCost?: number | undefined;
  readonly seed: number;
  readonly json: boolean;
}

/** @throws JudgeError `usage` when not exactly one target is given, or the labels do not fit */
export async function calibrateCommand(
  config: Config,
  options: CalibrateCommand,
  terminal: Terminal,
): Promise<void> {
  const labels = await readLabels(options.labels);
  const choose = async (judge: Judge): Promise<ThresholdChoice> => {
    const target = targetOf(options, judge);
    const names = options.strong === undefined ? [judge.output] : [judge.output, options.strong];
    const missing = names.find((name) => !labels.outputNames.includes(name));
    if (missing !== undefined) {
      const known = labels.outputNames.join(", ");
      throw new JudgeError("usage", `${options.labels} has no labels for "${missing}"; it labels ${known}`);
    }
    const rows = withOutputs(labels, names).filter(
      (row) => inEvaluatedSplit(row, options) && row.labels.every((label) => label !== null),
    );
    if (rows.length === 0) throw new JudgeError("usage", "no labelled rows; name a split that the file has");
    const texts = rows.map(({ text }) => text);
    const [predicted] = await predict([judge], texts, terminal);
    const p = predicted!.get(judge.output)!;
    const solved = (output: number) => Uint8Array.from(rows, (row) => (row.labels[output] === true ? 1 : 0));
    const strongSolved = options.strong === undefined ? null : solved(1);
    const weight = Float64Array.from(rows, (row) => row.weight);
    return chooseThreshold({ p, weakSolved: solved(0), strongSolved, weight }, target, {
      seed: options.seed,
    });
  };
  const choice = await withChosenJudge(config, options, choose);
  terminal.print(options.json ? JSON.stringify(choice, null, 2) : render(choice));
}

function targetOf(options: CalibrateCommand, judge: Judge): ThresholdTarget {
  const { targetWeakShare: share, minAccuracy: accuracy, maxCost: cost, strong } = options;
  const given = [share, accuracy, cost].filter((value) => value !== undefined);
  if (given.length !== 1) {
    throw new JudgeError("usage", "give one target: --target-weak-share, --min-accuracy or --max-cost");
  }
  if (share !== undefined) return { kind: "weak_share", share };
  if (accuracy !== undefined) return { kind: "accuracy", accuracy };
  const { costs } = judge.checkpoint;
  const strongCost = strong === undefined ? undefined : costs?.[strong];
  const weakCost = costs?.[judge.output];
  if (weakCost === undefined || strongCost === undefined || weakCost >= strongCost) {
    throw new JudgeError(
      "usage",
      "--max-cost needs --strong, and a checkpoint whose costs make the weak model cheaper",
    );
  }
  return { kind: "cost", cost: cost!, weak: weakCost, strong: strongCost };
}

function render(choice: ThresholdChoice): string {
  const { baseThreshold, reachable, accuracyOf } = choice;
  if (baseThreshold.value === null) {
    return `no threshold reaches the target on these rows (in ${(100 * reachable).toFixed(0)} % of the resamples one does)`;
  }
  const line = (name: string, estimate: Estimate | null) =>
    estimate?.value == null ? [] : [`${name.padEnd(16)}${interval(estimate)}`];
  return [
    `base_threshold  ${interval(baseThreshold)}`,
    ...line("weak share", choice.weakShare),
    ...line(accuracyOf === "route" ? "route accuracy" : "weak accuracy", choice.accuracy),
    ...line("error share", choice.errorShare),
    ...line("mean cost", choice.meanCost),
    "",
    "routes.toml:",
    `base_threshold = ${baseThreshold.value.toFixed(4)}`,
  ].join("\n");
}

function interval({ value, low, high }: Estimate): string {
  const digits = (part: number | null) => (part === null ? "-" : part.toFixed(4));
  return `${digits(value)} [${digits(low)}, ${digits(high)}]`;
}
