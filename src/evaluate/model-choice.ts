// What a choice among several models reaches: the best one, one model alone, the tolerance rule.
import { chooseByTolerance } from "../answer/choice.js";
import { type BootstrapOptions, bootstrap, type Estimate } from "./bootstrap.js";
import { weightedMean } from "./metrics.js";

/** Rows with a label for every output. */
export interface ChoiceRows {
  readonly outputNames: readonly string[];
  /** by output, [rows] each */
  readonly p: readonly Float64Array[];
  /** share of the answers that solve the row, 0…1 */
  readonly solved: readonly ArrayLike<number>[];
  readonly weight: Float64Array;
}

export interface ChoicePoint {
  /** share of rows that the chosen models solve */
  readonly solvedShare: Estimate;
  /** mean cost of a row; null without costs */
  readonly meanCost: Estimate | null;
}

export interface TolerancePoint extends ChoicePoint {
  readonly tolerance: number;
  /** solved share minus that of the best single model, on the same rows */
  readonly minusBestSingle: Estimate;
  /** share of rows that go to each output */
  readonly shares: readonly number[];
}

export interface ChoiceReport {
  readonly rows: number;
  readonly outputs: readonly (ChoicePoint & { readonly output: string })[];
  /** the cheapest of the models that solve the row most often */
  readonly oracle: ChoicePoint;
  /** the output that solves most of these very rows */
  readonly bestSingle: string;
  /** cost-coverage curve; tolerance 0 alone without costs, for then no model is the cheapest */
  readonly curve: readonly TolerancePoint[];
}

export interface ChoiceOptions extends BootstrapOptions {
  /** cost of a row by output, in any unit; null where none is known */
  readonly costs: readonly number[] | null;
}

/** 0, 0.05, … 1 */
const allTolerances: readonly number[] = Array.from({ length: 21 }, (_, step) => step / 20);

export function describeChoice(rows: ChoiceRows, options: ChoiceOptions): ChoiceReport {
  const { outputNames, solved, weight } = rows;
  const { costs } = options;
  const size = weight.length;
  const singles = outputNames.map((_, output) => new Uint32Array(size).fill(output));
  const oracle = Uint32Array.from({ length: size }, (_, row) => bestChoice(solved, row, costs));
  const tolerances = costs === null ? [0] : allTolerances;
  const byTolerance = tolerances.map((tolerance) =>
    Uint32Array.from({ length: size }, (_, row) =>
      chooseByTolerance(
        rows.p.map((values) => values[row]!),
        costs,
        tolerance,
      ),
    ),
  );
  const shares = singles.map((choice) => weightedMean(weight, outcomes(rows, choice)) ?? 0);
  const best = shares.indexOf(Math.max(...shares));
  const points = measure(rows, [...singles, oracle, ...byTolerance], { ...options, best });
  return {
    rows: size,
    outputs: outputNames.map((output, index) => ({ output, ...pointOf(points[index]!) })),
    oracle: pointOf(points[outputNames.length]!),
    bestSingle: outputNames[best]!,
    curve: tolerances.map((tolerance, index) => ({
      tolerance,
      ...points[outputNames.length + 1 + index]!,
      shares: outputNames.map(
        (_, output) =>
          weightedMean(
            weight,
            byTolerance[index]!.map((choice) => (choice === output ? 1 : 0)),
          ) ?? 0,
      ),
    })),
  };
}

function pointOf({ solvedShare, meanCost }: ChoicePoint): ChoicePoint {
  return { solvedShare, meanCost };
}

function bestChoice(
  solved: readonly ArrayLike<number>[],
  row: number,
  costs: readonly number[] | null,
): number {
  const outcome = solved.map((values) => values[row]!);
  return chooseByTolerance(outcome, costs, 0);
}

/** How often the row's chosen output solves it. */
function outcomes({ solved }: ChoiceRows, choice: Uint32Array): Float64Array {
  return Float64Array.from(choice, (output, row) => solved[output]![row]!);
}

/** Every choice of an output for each row, from one bootstrap. */
function measure(
  rows: ChoiceRows,
  choices: readonly Uint32Array[],
  options: ChoiceOptions & { best: number },
): (ChoicePoint & { minusBestSingle: Estimate })[] {
  const { costs, best } = options;
  const size = rows.weight.length;
  const solved = choices.map((choice) => outcomes(rows, choice));
  const paid = choices.map((choice) => Float64Array.from(choice, (output) => costs?.[output] ?? 0));
  const weight = new Float64Array(size);
  const estimates = bootstrap(
    size,
    (multiplicity) => {
      for (let row = 0; row < size; row++) weight[row] = rows.weight[row]! * multiplicity[row]!;
      const shares = solved.map((values) => weightedMean(weight, values));
      const single = shares[best]!;
      return [
        ...shares,
        ...shares.map((share) => (share === null || single === null ? null : share - single)),
        ...(costs === null ? [] : paid.map((values) => weightedMean(weight, values))),
      ];
    },
    options,
  );
  return choices.map((_, index) => ({
    solvedShare: estimates[index]!,
    minusBestSingle: estimates[choices.length + index]!,
    meanCost: estimates[2 * choices.length + index] ?? null,
  }));
}
