// How long a server usually takes.

export interface Latency {
  add(milliseconds: number): void;
  /** the 99th percentile of the latest answers; null before there are enough to tell */
  readonly usualMs: number | null;
}

const latest = 200;
const fewest = 20;

export function createLatency(): Latency {
  const values: number[] = [];
  let next = 0;
  return {
    add(milliseconds) {
      values[next] = milliseconds;
      next = (next + 1) % latest;
    },
    get usualMs() {
      if (values.length < fewest) return null;
      const sorted = values.toSorted((a, b) => a - b);
      return sorted[Math.ceil(0.99 * sorted.length) - 1]!;
    },
  };
}
