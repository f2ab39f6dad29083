// The statistics of the benchmark over a list of measurements.

/** A summary of measurements, in their unit. */
export interface Summary {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
}

/** @throws RangeError for an empty list */
export function summarize(values: readonly number[]): Summary {
  return {
    count: values.length,
    p50: quantile(values, 0.5),
    p99: quantile(values, 0.99),
    min: quantile(values, 0),
    max: quantile(values, 1),
  };
}

/**
 * The value below which the share `q` of the values lies; linear between two neighbours.
 *
 * @throws RangeError for an empty list
 */
function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) throw new RangeError("nothing was measured");
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)]!;
  const above = sorted[Math.ceil(position)]!;
  return below + (above - below) * (position - Math.floor(position));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The slope of the line through the points (x, y) by least squares. */
export function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (index: 0 | 1) => points.reduce((sum, point) => sum + point[index], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const above = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return above / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}
