// Rows and predictions → one report: how good a judge is, and how much better than others.
import { JudgeError } from "../errors.js";
import type { LabelRow } from "../labels/label-row.js";
import { labelWeight } from "../labels/label-row.js";
import { normaliseText } from "../labels/normalise.js";
import type { BootstrapOptions } from "./bootstrap.js";
import { createSample } from "./metrics.js";
import { type ChoiceReport, describeChoice } from "./model-choice.js";
import {
  type Contender,
  chooseRows,
  describeFigures,
  type LabelledRows,
  type OutputFigures,
} from "./output-figures.js";
import { type ThresholdPoint, thresholdCurve } from "./threshold-curve.js";

export interface Predictions {
  readonly name: string;
  /** by output, [rows] each, NaN where a row has none; null for an output without any */
  readonly byOutput: readonly (Float64Array | null)[];
}

export interface EvaluateInput {
  readonly rows: readonly LabelRow[];
  readonly outputNames: readonly string[];
  /** has a prediction for every row and output */
  readonly judge: Predictions;
  /** floors, other checkpoints, recorded scores */
  readonly against: readonly Predictions[];
}

export interface EvaluateOptions extends BootstrapOptions {
  /** for accuracy and agreement */
  readonly threshold: number;
  /** cost of a row by output; null where none is known */
  readonly costs: readonly number[] | null;
}

export interface EvaluationReport {
  readonly judge: string;
  readonly rows: number;
  /** records of the label file that went into the rows */
  readonly records: number;
  /** distinct judged texts ÷ records: below 1, records are not independent and intervals too narrow */
  readonly distinctShare: number;
  readonly threshold: number;
  readonly seed: number;
  readonly outputs: readonly OutputReport[];
  /** by name, the judge first, then those that predict every output; empty for a single output */
  readonly pools: readonly (ChoiceReport & { readonly name: string })[];
}

export interface NamedFigures extends OutputFigures {
  /** null: rows that name none */
  readonly name: string | null;
}

export interface OutputReport {
  readonly output: string;
  readonly all: OutputFigures;
  /** weak share and error share, by name */
  readonly thresholds: readonly { readonly name: string; readonly points: readonly ThresholdPoint[] }[];
  /** largest first; empty where no row names one */
  readonly groups: readonly NamedFigures[];
  readonly sources: readonly NamedFigures[];
}

/** @throws JudgeError `usage` for no rows */
export function evaluate(input: EvaluateInput, options: EvaluateOptions): EvaluationReport {
  const { rows, outputNames, judge, against } = input;
  if (rows.length === 0)
    throw new JudgeError("usage", { found: "no rows to evaluate", remedy: "name a split that the file has" });
  for (const predictions of [judge, ...against]) checkPredictions(predictions, input);
  const records = rows.reduce((sum, { copies }) => sum + copies, 0);
  return {
    judge: judge.name,
    rows: rows.length,
    records,
    distinctShare: new Set(rows.map(({ text }) => normaliseText(text))).size / records,
    threshold: options.threshold,
    seed: options.seed,
    outputs: outputNames.map((_, output) => describeOutput(input, output, options)),
    pools: describeChoices(input, options),
  };
}

/** A wrong shape or value is a fault of this program, or of its caller. */
function checkPredictions(
  { name, byOutput }: Predictions,
  { rows, outputNames, judge }: EvaluateInput,
): void {
  const complete = byOutput === judge.byOutput;
  const fits = (values: Float64Array | null | undefined) =>
    values === null
      ? !complete
      : values?.length === rows.length &&
        values.every((p) => (p >= 0 && p <= 1) || (Number.isNaN(p) && !complete));
  if (byOutput.length !== outputNames.length || !byOutput.every(fits)) {
    throw new RangeError(
      `predictions of ${name}: wanted ${outputNames.length} × ${rows.length} values in [0, 1]`,
    );
  }
}

/** 0.05, 0.1, … 0.95 */
const thresholds = Array.from({ length: 19 }, (_, step) => (step + 1) / 20);

function describeOutput(input: EvaluateInput, output: number, options: EvaluateOptions): OutputReport {
  const { rows, outputNames } = input;
  const chosen = [...rows.keys()].filter((row) => rows[row]!.labels[output] !== null);
  const labelled: LabelledRows = {
    solved: Float64Array.from(chosen, (row) => rows[row]!.labels[output]!),
    weight: Float64Array.from(chosen, (row) => labelWeight(rows[row]!, output)),
    answers: Float64Array.from(chosen, (row) => rows[row]!.samples[output]!),
    groups: chosen.map((row) => rows[row]!.group),
  };
  const contenders = [input.judge, ...input.against].flatMap(({ name, byOutput }): Contender[] => {
    const p = byOutput[output]!;
    return p === null ? [] : [{ name, p: Float64Array.from(chosen, (row) => p[row]!) }];
  });
  const sections = (names: readonly (string | null)[]) =>
    describeParts(labelled, { contenders, names }, options);
  return {
    output: outputNames[output]!,
    all: describe(labelled, contenders, options),
    thresholds: contenders.map(({ name, p }) => ({ name, points: curveOf(labelled, p, options) })),
    groups: sections(labelled.groups),
    sources: sections(chosen.map((row) => rows[row]!.source)),
  };
}

function describe(
  rows: LabelledRows,
  contenders: readonly Contender[],
  options: EvaluateOptions,
): OutputFigures {
  const [judge, ...against] = contenders;
  return describeFigures(rows, { judge: judge!, against }, options);
}

function curveOf(rows: LabelledRows, p: Float64Array, options: BootstrapOptions): ThresholdPoint[] {
  const known = [...p.keys()].filter((row) => !Number.isNaN(p[row]));
  const { solved, weight } = chooseRows(rows, known);
  const given = Float64Array.from(known, (row) => p[row]!);
  return thresholdCurve(createSample(given, solved, weight), thresholds, options);
}

/** A section for each name. */
function describeParts(
  rows: LabelledRows,
  { contenders, names }: { contenders: readonly Contender[]; names: readonly (string | null)[] },
  options: EvaluateOptions,
): NamedFigures[] {
  if (names.every((name) => name === null)) return [];
  const parts = new Map<string | null, number[]>();
  names.forEach((name, row) => {
    const part = parts.get(name);
    if (part === undefined) parts.set(name, [row]);
    else part.push(row);
  });
  return [...parts]
    .sort(([, first], [, second]) => second.length - first.length)
    .map(([name, chosen]) => {
      const own = contenders.map((contender) => ({
        name: contender.name,
        p: Float64Array.from(chosen, (row) => contender.p[row]!),
      }));
      return { name, ...describe(chooseRows(rows, chosen), own, options) };
    });
}

function describeChoices(input: EvaluateInput, options: EvaluateOptions): EvaluationReport["pools"] {
  const { rows, outputNames } = input;
  const chosen = [...rows.keys()].filter((row) => rows[row]!.labels.every((label) => label !== null));
  if (outputNames.length < 2 || chosen.length === 0) return [];
  const labels = {
    outputNames,
    solved: outputNames.map((_, output) => Float64Array.from(chosen, (row) => rows[row]!.labels[output]!)),
    // as often as every output has answered
    weight: Float64Array.from(chosen, (row) => rows[row]!.weight * Math.min(...rows[row]!.samples)),
  };
  return [input.judge, ...input.against].flatMap(({ name, byOutput }) => {
    const p = byOutput.flatMap((values) =>
      values === null ? [] : [Float64Array.from(chosen, (row) => values[row]!)],
    );
    if (p.length < outputNames.length || p.some((values) => values.some(Number.isNaN))) return [];
    return [{ name, ...describeChoice({ ...labels, p }, options) }];
  });
}
