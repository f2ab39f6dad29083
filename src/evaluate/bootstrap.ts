// Percentile bootstrap over rows. All statistics of a call see the same resamples, so differences pair.
import { createRandom } from "../train/numeric/random.js";

export interface Estimate {
  /** on the rows as they are; null where the rows cannot give it */
  readonly value: number | null;
  /** bounds of the interval; null where hardly a resample gives the statistic */
  readonly low: number | null;
  readonly high: number | null;
}

/** Of an interval. */
const coverage = 0.95;

export interface BootstrapOptions {
  readonly seed: number;
  /** default 2,000 */
  readonly resamples?: number;
}

/** @param multiplicity [rows], how often each row was drawn; all 1 for the rows as they are */
export type Statistics = (multiplicity: Float64Array) => readonly (number | null)[];

/** An estimate for each statistic, by drawing `size` of `size` rows with replacement. */
export function bootstrap(size: number, statistics: Statistics, options: BootstrapOptions): Estimate[] {
  const { seed, resamples = 2000 } = options;
  const random = createRandom(seed);
  const multiplicity = new Float64Array(size).fill(1);
  const values = statistics(multiplicity);
  const drawn = values.map(() => new Float64Array(resamples));
  const counts = new Uint32Array(values.length);
  for (let resample = 0; resample < resamples && size > 0; resample++) {
    multiplicity.fill(0);
    for (let draw = 0; draw < size; draw++) multiplicity[random.below(size)]! += 1;
    statistics(multiplicity).forEach((value, index) => {
      if (value !== null) drawn[index]![counts[index]!++] = value;
    });
  }
  return values.map((value, index) => {
    const sorted = drawn[index]!.subarray(0, counts[index]!).sort();
    // an interval of the few resamples that happen to have both classes would look too sure
    if (value === null || sorted.length * 2 < resamples) return { value, low: null, high: null };
    const tail = (1 - coverage) / 2;
    return { value, low: quantile(sorted, tail), high: quantile(sorted, 1 - tail) };
  });
}

/** The quantile of ascending values, with linear interpolation as numpy's default. */
export function quantile(sorted: Float64Array, share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const above = Math.min(below + 1, sorted.length - 1);
  const low = sorted[below]!;
  return low + (sorted[above]! - low) * (position - below);
}
