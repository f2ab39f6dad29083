// One output's figures over some rows: the judge's, every contender's, and the differences.
import { type BootstrapOptions, bootstrap, type Estimate } from "./bootstrap.js";
import {
  agreements,
  auc,
  createSample,
  ece,
  hits,
  logLosses,
  type Sample,
  squaredLosses,
  uncertain,
  weightedMean,
} from "./metrics.js";
import { groupOrders, withinGroupAuc } from "./within-group.js";

export const metricNames = [
  "auc",
  "withinGroupAuc",
  "brier",
  "logLoss",
  "ece",
  "accuracy",
  "uncertainShare",
] as const;
export type MetricName = (typeof metricNames)[number];
export type Figures = Readonly<Record<MetricName, Estimate>>;

/** Rows with a known label. */
export interface LabelledRows {
  /** share of the answers that solve it, 0…1 */
  readonly solved: Float64Array;
  /** answers included */
  readonly weight: Float64Array;
  readonly answers: Float64Array;
  readonly groups: readonly (string | null)[];
}

export interface Contender {
  readonly name: string;
  /** [rows] */
  readonly p: Float64Array;
}

export interface Comparison {
  readonly name: string;
  /** rows that both have predictions for */
  readonly rows: number;
  readonly figures: Figures;
  /** the judge's figure minus this one's, on the same rows */
  readonly judgeMinus: Figures;
  /** share of rows that both send to the same side of the threshold */
  readonly agreement: Estimate;
}

export interface OutputFigures {
  readonly rows: number;
  /** more than the rows where some prompts were answered several times */
  readonly answers: number;
  readonly solvedShare: number | null;
  readonly judge: Figures;
  readonly against: readonly Comparison[];
}

export interface FiguresOptions extends BootstrapOptions {
  readonly threshold: number;
}

/** @param against predictions may be NaN; a contender with gaps is compared on the rows it has */
export function describeFigures(
  rows: LabelledRows,
  { judge, against }: { judge: Contender; against: readonly Contender[] },
  options: FiguresOptions,
): OutputFigures {
  const complete = against.filter(({ p }) => !p.some(Number.isNaN));
  const whole = compare(rows, [judge, ...complete], options);
  const byName = new Map(whole.against.map((comparison, index) => [complete[index], comparison]));
  return {
    rows: rows.solved.length,
    answers: rows.answers.reduce((sum, count) => sum + count, 0),
    solvedShare: weightedMean(rows.weight, rows.solved),
    judge: whole.judge,
    against: against.map((contender) => {
      const known = byName.get(contender);
      if (known !== undefined) return known;
      const common = [...contender.p.keys()].filter((row) => !Number.isNaN(contender.p[row]));
      const pair = [judge, contender].map(({ name, p }) => ({
        name,
        p: Float64Array.from(common, (row) => p[row]!),
      }));
      return compare(chooseRows(rows, common), pair, options).against[0]!;
    }),
  };
}

export function chooseRows(
  { solved, weight, answers, groups }: LabelledRows,
  chosen: readonly number[],
): LabelledRows {
  return {
    solved: Float64Array.from(chosen, (row) => solved[row]!),
    weight: Float64Array.from(chosen, (row) => weight[row]!),
    answers: Float64Array.from(chosen, (row) => answers[row]!),
    groups: chosen.map((row) => groups[row]!),
  };
}

/** @param contenders the judge first; none has gaps */
function compare(
  rows: LabelledRows,
  contenders: readonly Contender[],
  options: FiguresOptions,
): Pick<OutputFigures, "judge" | "against"> {
  const size = rows.solved.length;
  const meters = contenders.map(({ p }) => createMeter(rows, p, options.threshold));
  const agreeing = contenders.map(({ p }) => agreements(contenders[0]!.p, p, options.threshold));
  const weight = new Float64Array(size);
  const estimates = bootstrap(
    size,
    (multiplicity) => {
      for (let row = 0; row < size; row++) weight[row] = rows.weight[row]! * multiplicity[row]!;
      const [own, ...others] = meters.map((meter) => meter(weight));
      const compared = others.flatMap((values, index) => [
        ...values,
        ...values.map((value, metric) => difference(own![metric]!, value)),
        weightedMean(weight, agreeing[index + 1]!),
      ]);
      return [...own!, ...compared];
    },
    options,
  );
  const count = metricNames.length;
  const blocks = contenders.slice(1).map((contender, index) => ({
    contender,
    start: count + index * (2 * count + 1),
  }));
  return {
    judge: figuresAt(estimates, 0),
    against: blocks.map(({ contender, start }) => ({
      name: contender.name,
      rows: size,
      figures: figuresAt(estimates, start),
      judgeMinus: figuresAt(estimates, start + count),
      agreement: estimates[start + 2 * count]!,
    })),
  };
}

function figuresAt(estimates: readonly Estimate[], start: number): Figures {
  const entries = metricNames.map((name, index) => [name, estimates[start + index]!]);
  return Object.fromEntries(entries) as unknown as Figures;
}

function difference(first: number | null, second: number | null): number | null {
  return first === null || second === null ? null : first - second;
}

/** All metrics as a function of the rows' weights, in the order of `metricNames`. */
function createMeter(
  { solved, weight: rowWeight, groups }: LabelledRows,
  p: Float64Array,
  threshold: number,
): (weight: Float64Array) => (number | null)[] {
  const sample: Sample = createSample(p, solved, rowWeight);
  const orders = groupOrders(sample, groups);
  const squared = squaredLosses(sample);
  const logarithmic = logLosses(sample);
  const right = hits(sample, threshold);
  const undecided = uncertain(sample);
  return (weight) => [
    auc(sample, weight),
    withinGroupAuc(sample, orders, weight),
    weightedMean(weight, squared),
    weightedMean(weight, logarithmic),
    ece(sample, weight),
    weightedMean(weight, right),
    weightedMean(weight, undecided),
  ];
}
