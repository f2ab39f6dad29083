// Logistic regression with an L2 penalty as in scikit-learn: the intercept is not penalised.
import { sigmoid } from "../../head/head.js";
import type { Design } from "../numeric/design.js";
import { type Evaluated, minimise } from "../numeric/lbfgs.js";

export interface LogisticModel {
  /** [columns] */
  readonly weight: Float64Array;
  readonly intercept: number;
  readonly iterations: number;
  readonly converged: boolean;
}

export interface LogisticOptions {
  /** scikit-learn's C: a larger one penalises less; default 1 */
  readonly inversePenalty?: number;
  /** [rows]; 0 leaves a row out; all 1 where absent */
  readonly sampleWeight?: Float64Array;
  /** largest component of the gradient of the mean loss; default 1e-5 (scikit-learn: 1e-4) */
  readonly tolerance?: number;
  /** default 1,000 */
  readonly maxIterations?: number;
}

/**
 * Minimises C · Σ weight · loss + ½ |w|².
 * @param solved [rows] 0…1
 * @throws RangeError when the rows that count are of one class: there is no minimum
 */
export function fitLogistic(
  design: Design,
  solved: ArrayLike<number>,
  options: LogisticOptions = {},
): LogisticModel {
  const { inversePenalty = 1, tolerance = 1e-5, maxIterations = 1000 } = options;
  const sampleWeight = options.sampleWeight ?? new Float64Array(design.rows).fill(1);
  const total = sampleWeight.reduce((sum, weight) => sum + weight, 0);
  const solvedTotal = sampleWeight.reduce((sum, weight, row) => sum + weight * solved[row]!, 0);
  if (!(solvedTotal > 0 && solvedTotal < total))
    throw new RangeError("logistic regression needs both classes");
  const problem = { design, solved, sampleWeight, total, penalty: 1 / (inversePenalty * total) };
  const start = new Float64Array(design.columns + 1);
  const { point, iterations, converged } = minimise(
    (parameters) => penalisedLoss(problem, parameters),
    start,
    {
      tolerance,
      maxIterations,
    },
  );
  return {
    weight: point.subarray(0, design.columns),
    intercept: point[design.columns]!,
    iterations,
    converged,
  };
}

/** [rows] in (0, 1). */
export function predictLogistic({ weight, intercept }: LogisticModel, design: Design): Float64Array {
  return design.apply(weight).map((score) => sigmoid(score + intercept));
}

interface Problem {
  readonly design: Design;
  readonly solved: ArrayLike<number>;
  readonly sampleWeight: Float64Array;
  readonly total: number;
  readonly penalty: number;
}

/** Mean loss plus penalty at [weights…, intercept]. */
function penalisedLoss(problem: Problem, parameters: Float64Array): Evaluated {
  const { design, solved, sampleWeight, total, penalty } = problem;
  const { columns } = design;
  const weight = parameters.subarray(0, columns);
  const scores = design.apply(weight);
  const residual = new Float64Array(scores.length);
  let loss = 0;
  let interceptSlope = 0;
  scores.forEach((product, row) => {
    const score = product + parameters[columns]!;
    const share = sampleWeight[row]! / total;
    // ln(1 + e^score) − solved · score, without overflow
    const softplus = Math.max(score, 0) + Math.log1p(Math.exp(-Math.abs(score)));
    loss += share * (softplus - solved[row]! * score);
    residual[row] = share * (sigmoid(score) - solved[row]!);
    interceptSlope += residual[row]!;
  });
  const gradient = new Float64Array(columns + 1);
  gradient.set(design.applyTransposed(residual));
  let squares = 0;
  for (let column = 0; column < columns; column++) {
    squares += weight[column]! ** 2;
    gradient[column]! += penalty * weight[column]!;
  }
  gradient[columns] = interceptSlope;
  return { value: loss + (penalty * squares) / 2, gradient };
}
