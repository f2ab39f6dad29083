// Words of `doctor` for numbers.

/** Ascending indices, runs shortened: `0–3, 8`. */
export function list(indices: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const index of indices) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] + 1 === index) last[1] = index;
    else runs.push([index, index]);
  }
  return runs.map(([start, end]) => (start === end ? start : `${start}–${end}`)).join(", ") || "none";
}

/** A difference of probabilities. */
export function small(difference: number): string {
  return difference === 0 || difference >= 0.001
    ? String(Number(difference.toPrecision(2)))
    : difference.toExponential(1);
}
