// Limited-memory BFGS (Nocedal & Wright, 7.5), weak Wolfe line search (Lewis & Overton 2013).

export interface Evaluated {
  readonly value: number;
  readonly gradient: Float64Array;
}

export interface LbfgsOptions {
  /** done when no component of the gradient is larger */
  readonly tolerance: number;
  readonly maxIterations: number;
}

export interface Minimum {
  readonly point: Float64Array;
  readonly value: number;
  readonly iterations: number;
  /** false: the iterations ran out */
  readonly converged: boolean;
}

const memory = 10;
const sufficientDecrease = 1e-4;
const curvature = 0.9;
const maxSteps = 50;

export function minimise(
  evaluate: (point: Float64Array) => Evaluated,
  start: Float64Array,
  { tolerance, maxIterations }: LbfgsOptions,
): Minimum {
  let point = start;
  let here = evaluate(point);
  const pairs: Pair[] = [];
  for (let iteration = 0; ; iteration++) {
    const converged = here.gradient.every((slope) => Math.abs(slope) <= tolerance);
    if (converged || iteration === maxIterations) {
      return { point, value: here.value, iterations: iteration, converged };
    }
    const direction = descent(here.gradient, pairs);
    const first = iteration === 0 ? Math.min(1, 1 / norm(here.gradient)) : 1;
    const next = searchLine(evaluate, { point, here, direction, first });
    // the function is flat to the last bit: nothing is left to gain
    if (next === null) return { point, value: here.value, iterations: iteration, converged: true };
    const step = subtract(next.point, point);
    const change = subtract(next.there.gradient, here.gradient);
    const product = inner(step, change);
    if (product > 0) pairs.push({ step, change, product });
    if (pairs.length > memory) pairs.shift();
    point = next.point;
    here = next.there;
  }
}

/** A step that was taken and how the gradient changed over it. */
interface Pair {
  readonly step: Float64Array;
  readonly change: Float64Array;
  readonly product: number;
}

/** −H · gradient by the two-loop recursion. */
function descent(gradient: Float64Array, pairs: readonly Pair[]): Float64Array {
  const direction = gradient.map((slope) => -slope);
  const factors = new Float64Array(pairs.length);
  for (let index = pairs.length - 1; index >= 0; index--) {
    const { step, change, product } = pairs[index]!;
    factors[index] = inner(step, direction) / product;
    addScaled(direction, change, -factors[index]!);
  }
  const latest = pairs.at(-1);
  if (latest !== undefined) {
    const scale = latest.product / inner(latest.change, latest.change);
    for (let index = 0; index < direction.length; index++) direction[index]! *= scale;
  }
  pairs.forEach(({ step, change, product }, index) => {
    addScaled(direction, step, factors[index]! - inner(change, direction) / product);
  });
  return direction;
}

interface Line {
  readonly point: Float64Array;
  readonly here: Evaluated;
  readonly direction: Float64Array;
  /** the first length to try */
  readonly first: number;
}

/** A point that satisfies both conditions, or the best lower one found; null when none is lower. */
function searchLine(
  evaluate: (point: Float64Array) => Evaluated,
  { point, here, direction, first }: Line,
): { point: Float64Array; there: Evaluated } | null {
  const slope = inner(here.gradient, direction);
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  let length = first;
  let best: { point: Float64Array; there: Evaluated } | null = null;
  for (let step = 0; step < maxSteps; step++) {
    const candidate = point.slice();
    addScaled(candidate, direction, length);
    const there = evaluate(candidate);
    if (!(there.value <= here.value + sufficientDecrease * length * slope)) {
      high = length;
    } else {
      if (there.value < here.value) best = { point: candidate, there };
      if (inner(there.gradient, direction) >= curvature * slope) return best;
      low = length;
    }
    length = high === Number.POSITIVE_INFINITY ? 2 * low : (low + high) / 2;
  }
  return best;
}

function inner(first: Float64Array, second: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < first.length; index++) sum += first[index]! * second[index]!;
  return sum;
}

function norm(vector: Float64Array): number {
  return Math.sqrt(inner(vector, vector));
}

function subtract(first: Float64Array, second: Float64Array): Float64Array {
  return first.map((value, index) => value - second[index]!);
}

function addScaled(target: Float64Array, vector: Float64Array, factor: number): void {
  for (let index = 0; index < target.length; index++) target[index]! += factor * vector[index]!;
}
