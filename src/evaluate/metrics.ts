// How good probabilities are against shares of solved answers. Figures take weights; null is no figure.

/** Labelled rows with one output's probabilities. */
export interface Sample {
  /** in [0, 1] */
  readonly p: Float64Array;
  /** share of the answers that are solved, 0…1 */
  readonly solved: ArrayLike<number>;
  readonly weight: Float64Array;
  /** row numbers by ascending p */
  readonly order: Uint32Array;
}

/** @param weight all 1 where absent */
export function createSample(p: Float64Array, solved: ArrayLike<number>, weight?: Float64Array): Sample {
  const order = Uint32Array.from(p.keys()).sort((a, b) => p[a]! - p[b]! || a - b);
  return { p, solved, weight: weight ?? new Float64Array(p.length).fill(1), order };
}

/** Σ weight · value / Σ weight, both [rows]. */
export function weightedMean(weight: Float64Array, values: ArrayLike<number>): number | null {
  let sum = 0;
  let total = 0;
  for (let row = 0; row < weight.length; row++) {
    total += weight[row]!;
    sum += weight[row]! * values[row]!;
  }
  return total > 0 ? sum / total : null;
}

/** The chance that a solved answer stands above one that is not; equal p count half (average ranks). */
export function auc({ p, solved, order }: Sample, weight: Float64Array): number | null {
  return aucOf(order, { p, solved, weight });
}

/** @param order the rows that count, by ascending p */
export function aucOf(
  order: Uint32Array,
  { p, solved, weight }: Pick<Sample, "p" | "solved" | "weight">,
): number | null {
  let failedBelow = 0;
  let solvedBelow = 0;
  let pairs = 0;
  for (let start = 0; start < order.length; ) {
    const value = p[order[start]!]!;
    let failedHere = 0;
    let solvedHere = 0;
    let end = start;
    for (; end < order.length && p[order[end]!] === value; end++) {
      const row = order[end]!;
      solvedHere += weight[row]! * solved[row]!;
      failedHere += weight[row]! * (1 - solved[row]!);
    }
    pairs += solvedHere * (failedBelow + failedHere / 2);
    failedBelow += failedHere;
    solvedBelow += solvedHere;
    start = end;
  }
  return failedBelow > 0 && solvedBelow > 0 ? pairs / (failedBelow * solvedBelow) : null;
}

/** Half the width of the 95 % interval of an AUC on so many rows (Hanley & McNeil 1982). */
export function aucHalfWidth(value: number, { solved, failed }: { solved: number; failed: number }): number {
  const solvedPairs = value / (2 - value) - value ** 2;
  const failedPairs = (2 * value ** 2) / (1 + value) - value ** 2;
  const variance = value * (1 - value) + (solved - 1) * solvedPairs + (failed - 1) * failedPairs;
  return 1.96 * Math.sqrt(variance / (solved * failed));
}

/** Squared distance of p from the share; [rows]. Its mean is the Brier score. */
export function squaredLosses({ p, solved }: Sample): Float64Array {
  return p.map((probability, row) => (probability - solved[row]!) ** 2);
}

/** −ln of the probability of what happened, by row, kept off 0 and 1 by 2⁻⁵² as in scikit-learn. */
export function logLosses({ p, solved }: Sample): Float64Array {
  return p.map((probability, row) => {
    const share = solved[row]!;
    return share * negativeLog(probability) + (1 - share) * negativeLog(1 - probability);
  });
}

function negativeLog(given: number): number {
  return -Math.log(Math.min(Math.max(given, Number.EPSILON), 1 - Number.EPSILON));
}

const bins = 10;

/** Expected calibration error: the rows' mean |mean p − share solved| of their bin, over [0, 1]. */
export function ece({ p, solved }: Sample, weight: Float64Array): number | null {
  const gaps = new Float64Array(bins);
  let total = 0;
  for (let row = 0; row < p.length; row++) {
    const bin = Math.min(Math.floor(p[row]! * bins), bins - 1);
    gaps[bin]! += weight[row]! * (p[row]! - solved[row]!);
    total += weight[row]!;
  }
  return total > 0 ? gaps.reduce((sum, gap) => sum + Math.abs(gap), 0) / total : null;
}

/** The router's rule: equality counts, within f64 epsilon. */
export function goesToWeak(p: number, threshold: number): boolean {
  return p >= threshold - Number.EPSILON;
}

/** Share of the answers on the side of the threshold that p lies on; [rows]. Its mean is the accuracy. */
export function hits({ p, solved }: Sample, threshold: number): Float64Array {
  return p.map((value, row) => (goesToWeak(value, threshold) ? solved[row]! : 1 - solved[row]!));
}

/** 1 where p lies from 0.4 to 0.6 and the judge hardly decides; [rows]. */
export function uncertain({ p }: Pick<Sample, "p">): Uint8Array {
  return Uint8Array.from(p, (value) => (value >= 0.4 && value <= 0.6 ? 1 : 0));
}

/** 1 where both send the row to the same side of the threshold. The mean is the agreement. */
export function agreements(first: Float64Array, second: Float64Array, threshold: number): Uint8Array {
  return Uint8Array.from(first, (value, row) =>
    goesToWeak(value, threshold) === goesToWeak(second[row]!, threshold) ? 1 : 0,
  );
}
