// Whether two servers give the same hidden states.
import { createHash } from "node:crypto";
import type { PooledVectors } from "../../features/pooled.js";

/** Read by every server, to be compared: some tokens, so that a mean is one. */
export const sampleText = "Which planet is the largest, and how many moons does it have?";

/** Of a usual value: rounding moves values by less, other layers or weights move them by more. */
const admittedDifference = 0.1;

/**
 * Whether every vector is that of the other, but for rounding. Compared are usual values, the medians: a few
 * values of large models are thousands of times larger than all others, and alike in many layers.
 */
export function isAlike(first: PooledVectors, second: PooledVectors): boolean {
  return [...first].every(([key, vector]) => {
    const other = second.get(key);
    if (other === undefined || other.length !== vector.length) return false;
    const difference = median(vector.map((value, index) => Math.abs(value - other[index]!)));
    return difference <= admittedDifference * median(vector.map(Math.abs));
  });
}

/** Of these very values, as hex digits. */
export function hashOfVectors(vectors: PooledVectors): string {
  const hash = createHash("sha256");
  for (const [key, vector] of vectors) hash.update(key).update(vector);
  return hash.digest("hex").slice(0, 16);
}

function median(values: Float32Array): number {
  return values.toSorted()[values.length >> 1]!;
}
