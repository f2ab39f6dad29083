// `calibrate`: the base_threshold that a route should have, from labels that the judge was not trained on.
import type { Config } from "../../config/config.js";
import { JudgeError } from "../../errors.js";
import type { Estimate } from "../../evaluate/bootstrap.js";
import type { Costs } from "../../evaluate/costs.js";
import { chooseThreshold, type ThresholdChoice, type ThresholdTarget } from "../../evaluate/threshold.js";
import type { Judge } from "../../judge/judge-parts.js";
import { checkSplits, readLabels } from "../../labels/label-file.js";
import type { LabelRow } from "../../labels/label-row.js";
import { type Labels, withOutputs } from "../../labels/labels.js";
import { chosenEnvelopes, type JudgeChoice, withChosenJudge } from "../chosen-judges.js";
import { predict } from "../score-rows.js";
import type { Terminal } from "../terminal.js";
import { amount } from "../text-table.js";
import { applyCosts, type CostsFile, readCosts } from "./costs-file.js";
import { type MeasuredChoice, measuredRows } from "./measured-rows.js";

export interface CalibrateCommand extends JudgeChoice, MeasuredChoice {
  readonly labels: string;
  /** the weak model's output; without it, the judge's own */
  readonly weak?: string | undefined;
  /** the strong model's output in the labels; with it, accuracy is that of the whole route */
  readonly strong?: string | undefined;
  readonly targetWeakShare?: number | undefined;
  readonly minAccuracy?: number | undefined;
  readonly maxCost?: number | undefined;
  /** file of costs by output; without it, the checkpoint's */
  readonly costs?: string | undefined;
  readonly seed: number;
  readonly json: boolean;
}

/** The weak and the strong output; null where only the weak one counts. */
interface Route {
  readonly weak: string;
  readonly strong: string | null;
}

/**
 * @returns whether a threshold reaches the target
 * @throws JudgeError `usage` when not exactly one target is given, or labels or costs do not fit
 */
export async function calibrateCommand(
  config: Config,
  options: CalibrateCommand,
  terminal: Terminal,
): Promise<boolean> {
  checkTargets(options);
  const labels = await readLabels(options.labels, await chosenEnvelopes(config, options));
  checkSplits(labels, options, options.labels);
  const costsFile = options.costs === undefined ? null : await readCosts(options.costs);
  const choice = await withChosenJudge(config, options, async (judge) => {
    const route = routeOf(labels, judge, options);
    const rows = routeRows(labels, route, { options, terminal });
    const texts = rows.map(({ text }) => text);
    const target = await targetOf(options, route, () => costsOf(judge, costsFile, { labels, route, texts }));
    const [predicted] = await predict([judge], texts, terminal);
    const solved = (output: number) => Float64Array.from(rows, (row) => row.labels[output]!);
    const strongSolved = route.strong === null ? null : solved(1);
    // as often as every output of the route has answered
    const weight = Float64Array.from(rows, (row) => row.weight * Math.min(...row.samples));
    return chooseThreshold(
      { p: predicted!.get(route.weak)!, weakSolved: solved(0), strongSolved, weight },
      target,
      { seed: options.seed },
    );
  });
  terminal.print(options.json ? JSON.stringify(choice, null, 2) : render(choice));
  return choice.baseThreshold.value !== null;
}

function checkTargets({ targetWeakShare, minAccuracy, maxCost, costs }: CalibrateCommand): void {
  const given = [targetWeakShare, minAccuracy, maxCost].filter((value) => value !== undefined);
  if (given.length !== 1) {
    throw new JudgeError("usage", {
      found: "give one target: --target-weak-share, --min-accuracy or --max-cost",
    });
  }
  for (const [option, share] of [
    ["--target-weak-share", targetWeakShare],
    ["--min-accuracy", minAccuracy],
  ] as const) {
    if (share !== undefined && !(share >= 0 && share <= 1))
      throw new JudgeError("usage", {
        found: `${option}: found ${share}`,
        wanted: "a share of 0 to 1, such as 0.2 for 20 %",
      });
  }
  if (costs !== undefined && maxCost === undefined) {
    throw new JudgeError("usage", { found: "--costs belongs to --max-cost", remedy: "give both or neither" });
  }
}

function routeOf(labels: Labels, judge: Judge, options: CalibrateCommand): Route {
  const route = { weak: options.weak ?? judge.output, strong: options.strong ?? null };
  const predicted = judge.checkpoint.head.outputNames;
  if (!predicted.includes(route.weak)) {
    throw new JudgeError("usage", {
      found: `--weak: the judge predicts ${predicted.join(", ")}`,
      remedy: "name one of these",
    });
  }
  const missing = [route.weak, route.strong].find(
    (name) => name !== null && !labels.outputNames.includes(name),
  );
  if (missing === undefined) return route;
  const known = labels.outputNames.join(", ");
  throw new JudgeError("usage", {
    found: `${options.labels} has no labels for "${missing}"`,
    remedy: `it labels ${known}`,
  });
}

/** The rows to choose on, the weak output's label first; none that was trained on. */
function routeRows(
  labels: Labels,
  { weak, strong }: Route,
  { options, terminal }: { options: MeasuredChoice; terminal: Terminal },
): LabelRow[] {
  const all = withOutputs(labels, strong === null ? [weak] : [weak, strong]);
  const rows = measuredRows({ rows: all }, options, terminal).filter(({ labels }) =>
    labels.every((label) => label !== null),
  );
  if (rows.length > 0) return rows;
  throw new JudgeError("usage", { found: "no labelled rows", remedy: "name another split, or label them" });
}

async function targetOf(
  { targetWeakShare: share, minAccuracy: accuracy, maxCost }: CalibrateCommand,
  { weak, strong }: Route,
  costsOf: () => Promise<Costs>,
): Promise<ThresholdTarget> {
  if (share !== undefined) return { kind: "weak_share", share };
  if (accuracy !== undefined) return { kind: "accuracy", accuracy };
  if (strong === null) {
    throw new JudgeError("usage", {
      found: "--max-cost needs --strong, the output of the other model of the route",
    });
  }
  const costs = await costsOf();
  const [weakCost, strongCost] = [costs?.[weak], costs?.[strong]];
  if (weakCost === undefined || strongCost === undefined) {
    throw new JudgeError("usage", {
      found: "the checkpoint has no costs of these two outputs, which --max-cost needs",
      remedy: "give --costs a file of them",
    });
  }
  if (weakCost < strongCost) return { kind: "cost", cost: maxCost!, weak: weakCost, strong: strongCost };
  throw new JudgeError("usage", {
    found: `a request costs ${weakCost} with the weak model and ${strongCost} with the strong one`,
    remedy: "--max-cost wants the weak one cheaper",
  });
}

/** The file's before the checkpoint's. */
async function costsOf(
  { checkpoint, encoder }: Judge,
  file: CostsFile | null,
  { labels, route, texts }: { labels: Labels; route: Route; texts: readonly string[] },
): Promise<Costs> {
  if (file === null) return checkpoint.costs;
  const outputs = [route.weak, route.strong].filter((name) => name !== null);
  const known = [...labels.outputNames, ...checkpoint.head.outputNames];
  return await applyCosts(file, { outputs, known, labels, texts }, encoder);
}

function render(choice: ThresholdChoice): string {
  const { baseThreshold, reachable, accuracyOf } = choice;
  if (baseThreshold.value === null) {
    return `no threshold reaches the target on these rows (in ${(100 * reachable).toFixed(0)} % of the resamples one does)`;
  }
  const line = (name: string, estimate: Estimate | null, show?: (part: number) => string) =>
    estimate?.value == null ? [] : [`${name.padEnd(16)}${interval(estimate, show)}`];
  return [
    `base_threshold  ${interval(baseThreshold)}`,
    ...line("weak share", choice.weakShare),
    ...line(accuracyOf === "route" ? "route accuracy" : "weak accuracy", choice.accuracy),
    ...line("error share", choice.errorShare),
    ...line("mean cost", choice.meanCost, amount),
    "",
    "routes.toml:",
    `base_threshold = ${baseThreshold.value.toFixed(4)}`,
  ].join("\n");
}

function interval({ value, low, high }: Estimate, show = (part: number) => part.toFixed(4)): string {
  const digits = (part: number | null) => (part === null ? "-" : show(part));
  return `${digits(value)} [${digits(low)}, ${digits(high)}]`;
}
