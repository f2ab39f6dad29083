// What each of several thresholds does, with intervals.
import { type BootstrapOptions, bootstrap, type Estimate } from "./bootstrap.js";
import { goesToWeak, type Sample } from "./metrics.js";

/** What a threshold does. */
export interface ThresholdPoint {
  readonly threshold: number;
  /** rows that go to the weak model, of all */
  readonly weakShare: Estimate;
  /** answers for rows that go to the weak model which do not solve them, of all */
  readonly errorShare: Estimate;
  /** solved of those that go to the weak model; null where none does */
  readonly weakAccuracy: Estimate;
}

/**
 * One point for each threshold; none for a sample without weight.
 * @param thresholds ascending
 */
export function thresholdCurve(
  { p, solved, weight }: Sample,
  thresholds: readonly number[],
  options: BootstrapOptions,
): ThresholdPoint[] {
  if (!weight.some((value) => value > 0)) return [];
  /** how many thresholds send the row to the weak model: the first so many do */
  const reached = Uint32Array.from(p, (value) => {
    const above = thresholds.findIndex((threshold) => !goesToWeak(value, threshold));
    return above < 0 ? thresholds.length : above;
  });
  const estimates = bootstrap(
    p.length,
    (multiplicity) => {
      const weak = new Float64Array(thresholds.length + 1);
      const failing = new Float64Array(thresholds.length + 1);
      for (let row = 0; row < p.length; row++) {
        const drawn = weight[row]! * multiplicity[row]!;
        weak[reached[row]!]! += drawn;
        failing[reached[row]!]! += drawn * (1 - solved[row]!);
      }
      // a row that reaches a threshold reaches those below it
      for (let place = thresholds.length; place > 0; place--) {
        weak[place - 1]! += weak[place]!;
        failing[place - 1]! += failing[place]!;
      }
      const total = weak[0]!;
      return thresholds.flatMap((_, index) => {
        const [sent, failed] = [weak[index + 1]!, failing[index + 1]!];
        return total > 0
          ? [sent / total, failed / total, sent > 0 ? 1 - failed / sent : null]
          : [null, null, null];
      });
    },
    options,
  );
  return thresholds.map((threshold, index) => ({
    threshold,
    weakShare: estimates[3 * index]!,
    errorShare: estimates[3 * index + 1]!,
    weakAccuracy: estimates[3 * index + 2]!,
  }));
}
