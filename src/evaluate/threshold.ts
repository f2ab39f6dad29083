// Which base_threshold a route should have: for a weak share, an accuracy or a cost.
import { type BootstrapOptions, bootstrap, type Estimate } from "./bootstrap.js";
import { createSample, goesToWeak, weightedMean } from "./metrics.js";

export type ThresholdTarget =
  /** at least this share of the requests goes to the weak model, and no more than needed */
  | { readonly kind: "weak_share"; readonly share: number }
  /** as many as possible, while at least this share is solved (of what: see `accuracyOf`) */
  | { readonly kind: "accuracy"; readonly accuracy: number }
  /** a request costs at most this on average, the weak model used no more than needed */
  | { readonly kind: "cost"; readonly cost: number; readonly weak: number; readonly strong: number };

export interface RouteRows {
  /** the weak output's probabilities */
  readonly p: Float64Array;
  /** share of the answers that solve the row, 0…1 */
  readonly weakSolved: ArrayLike<number>;
  /** null: accuracy is that of the requests which the weak model serves */
  readonly strongSolved: ArrayLike<number> | null;
  readonly weight: Float64Array;
}

export interface ThresholdChoice {
  /** null: no threshold reaches the target */
  readonly baseThreshold: Estimate;
  /** share of the resamples in which some threshold reaches the target */
  readonly reachable: number;
  /** what `accuracy` is of: all requests of the route, or those that go to the weak model */
  readonly accuracyOf: "route" | "weak";
  /** the rest at that threshold, on the same rows; null where there is no threshold */
  readonly weakShare: Estimate | null;
  readonly accuracy: Estimate | null;
  /** requests that go to the weak model and are not solved by it, of all */
  readonly errorShare: Estimate | null;
  /** null unless the target has costs */
  readonly meanCost: Estimate | null;
}

/** @throws RangeError for rows without weight, or a weak model that costs as much as the strong one */
export function chooseThreshold(
  rows: RouteRows,
  target: ThresholdTarget,
  options: BootstrapOptions,
): ThresholdChoice {
  if (rows.p.length === 0) throw new RangeError("a threshold needs rows");
  if (target.kind === "cost" && !(target.weak < target.strong)) {
    throw new RangeError("the weak model must cost less than the strong one");
  }
  const descending = createSample(rows.p, rows.weakSolved, rows.weight).order.toReversed();
  const asTheyAre = findGap(rows, { descending, weight: rows.weight }, target);
  let calls = 0;
  let reached = 0;
  const [estimate] = bootstrap(
    rows.p.length,
    (multiplicity) => {
      const weight = rows.weight.map((value, row) => value * multiplicity[row]!);
      const gap = findGap(rows, { descending, weight }, target);
      calls++;
      if (gap !== null) reached++;
      return [gap === null ? null : (gap.below + gap.above) / 2];
    },
    options,
  );
  const value = asTheyAre === null ? null : shortestBetween(asTheyAre);
  return {
    baseThreshold: { ...estimate!, value },
    // one call was for the rows as they are
    reachable: (reached - (asTheyAre === null ? 0 : 1)) / (calls - 1),
    accuracyOf: rows.strongSolved === null ? "weak" : "route",
    ...describeEffects(rows, { threshold: value, target }, options),
  };
}

/** Fewer requests say too little of an accuracy: a single right one would be 100 %. */
const leastWeakRows = 20;

/** Thresholds above `below` and up to `above` send the same rows to the weak model. */
interface Gap {
  readonly below: number;
  readonly above: number;
}

/** The gap that reaches the target; null where none does. */
function findGap(
  { p, weakSolved, strongSolved }: RouteRows,
  { descending, weight }: { descending: Uint32Array; weight: Float64Array },
  target: ThresholdTarget,
): Gap | null {
  const drawn = descending.filter((row) => weight[row]! > 0);
  let total = 0;
  let solvedByStrong = 0;
  for (const row of drawn) {
    total += weight[row]!;
    solvedByStrong += weight[row]! * (strongSolved?.[row] ?? 0);
  }
  let weak = 0;
  let solved = 0;
  let found: Gap | null = null;
  for (let next = 0; ; next++) {
    const above = next === 0 ? 1 : p[drawn[next - 1]!]!;
    const below = next === drawn.length ? Number.NEGATIVE_INFINITY : p[drawn[next]!]!;
    if (below < above) {
      const ofWeak = next < leastWeakRows ? Number.NaN : solved / weak;
      const accuracy = strongSolved === null ? ofWeak : (solved + solvedByStrong) / total;
      const gap = { below: Math.max(below, 0), above };
      if (target.kind === "accuracy") {
        if (accuracy >= target.accuracy) found = gap;
      } else if (weak / total >= wantedShare(target) - 1e-12) return gap;
    }
    if (next === drawn.length) return found;
    const row = drawn[next]!;
    weak += weight[row]!;
    solved += weight[row]! * weakSolved[row]!;
    solvedByStrong -= weight[row]! * (strongSolved?.[row] ?? 0);
  }
}

function wantedShare(target: Exclude<ThresholdTarget, { kind: "accuracy" }>): number {
  if (target.kind === "weak_share") return target.share;
  return (target.strong - target.cost) / (target.strong - target.weak);
}

/** The number with the fewest decimals above `below` and up to `above`, near the middle. */
function shortestBetween({ below, above }: Gap): number {
  const middle = (below + above) / 2;
  for (let decimals = 1; decimals <= 15; decimals++) {
    const rounded = Number(middle.toFixed(decimals));
    // by a wide enough margin that the router's epsilon does not reach the next probability
    if (rounded - below > 2 * Number.EPSILON && rounded <= above) return rounded;
  }
  return above;
}

type Effects = Pick<ThresholdChoice, "weakShare" | "accuracy" | "errorShare" | "meanCost">;

function describeEffects(
  { p, weakSolved, strongSolved, weight: rowWeight }: RouteRows,
  { threshold, target }: { threshold: number | null; target: ThresholdTarget },
  options: BootstrapOptions,
): Effects {
  if (threshold === null) return { weakShare: null, accuracy: null, errorShare: null, meanCost: null };
  const weak = Uint8Array.from(p, (value) => (goesToWeak(value, threshold) ? 1 : 0));
  const failing = Float64Array.from(weak, (value, row) => value * (1 - weakSolved[row]!));
  const right = Float64Array.from(weak, (value, row) =>
    value === 1 ? weakSolved[row]! : (strongSolved?.[row] ?? 0),
  );
  const costs = target.kind === "cost" ? target : null;
  const [weakShare, accuracy, errorShare, meanCost] = bootstrap(
    p.length,
    (multiplicity) => {
      const weight = rowWeight.map((value, row) => value * multiplicity[row]!);
      const share = weightedMean(weight, weak);
      const solved = weightedMean(weight, right);
      const ofWeak = share === null || share === 0 ? null : solved! / share;
      const cost = share === null ? null : share * (costs?.weak ?? 0) + (1 - share) * (costs?.strong ?? 0);
      return [share, strongSolved === null ? ofWeak : solved, weightedMean(weight, failing), cost];
    },
    options,
  );
  return {
    weakShare: weakShare!,
    accuracy: accuracy!,
    errorShare: errorShare!,
    meanCost: costs === null ? null : meanCost!,
  };
}
