// Sums of products of all pairs of series: a covariance matrix, or the Gram matrix of rows. Float64.

export interface Series {
  /** how many series: the result is [count, count] */
  readonly count: number;
  /** values in each */
  readonly length: number;
  readonly valueAt: (series: number, position: number) => number;
}

/** series that one block of the result holds in registers, from either side */
const block = 4;
/** positions packed at a time, so that they stay in the cache */
const chunk = 128;

/** result[i, j] = Σ over positions of series i · series j, [count, count]. */
export function gramMatrix({ count, length, valueAt }: Series): Float64Array {
  const blocks = Math.ceil(count / block);
  const padded = blocks * block;
  const sums = new Float64Array(padded * padded);
  const panels = new Float64Array(padded * chunk);
  for (let start = 0; start < length; start += chunk) {
    const depth = Math.min(chunk, length - start);
    for (let position = 0; position < depth; position++) {
      for (let series = 0; series < count; series++) {
        const panel = (series >> 2) * block * chunk;
        panels[panel + position * block + (series & 3)] = valueAt(series, start + position);
      }
    }
    for (let left = 0; left < blocks; left++) {
      for (let right = left; right < blocks; right++) {
        addBlock({ sums, padded, panels, depth }, left, right);
      }
    }
  }
  const result = new Float64Array(count * count);
  for (let row = 0; row < count; row++) {
    for (let column = row; column < count; column++) {
      const sum = sums[row * padded + column]!;
      result[row * count + column] = sum;
      result[column * count + row] = sum;
    }
  }
  return result;
}

interface Packed {
  /** [padded, padded] */
  readonly sums: Float64Array;
  readonly padded: number;
  /** [blocks, chunk, 4] */
  readonly panels: Float64Array;
  readonly depth: number;
}

/** Two rows of the block at a time: eight sums and six values fit the processor's registers. */
function addBlock({ sums, padded, panels, depth }: Packed, left: number, right: number): void {
  for (let half = 0; half < block; half += 2) {
    let s00 = 0;
    let s01 = 0;
    let s02 = 0;
    let s03 = 0;
    let s10 = 0;
    let s11 = 0;
    let s12 = 0;
    let s13 = 0;
    let a = left * block * chunk + half;
    const end = right * block * chunk + depth * block;
    for (let b = right * block * chunk; b < end; b += block) {
      const a0 = panels[a]!;
      const a1 = panels[a + 1]!;
      const b0 = panels[b]!;
      const b1 = panels[b + 1]!;
      const b2 = panels[b + 2]!;
      const b3 = panels[b + 3]!;
      s00 += a0 * b0;
      s01 += a0 * b1;
      s02 += a0 * b2;
      s03 += a0 * b3;
      s10 += a1 * b0;
      s11 += a1 * b1;
      s12 += a1 * b2;
      s13 += a1 * b3;
      a += block;
    }
    const upper = (left * block + half) * padded + right * block;
    const lower = upper + padded;
    sums[upper]! += s00;
    sums[upper + 1]! += s01;
    sums[upper + 2]! += s02;
    sums[upper + 3]! += s03;
    sums[lower]! += s10;
    sums[lower + 1]! += s11;
    sums[lower + 2]! += s12;
    sums[lower + 3]! += s13;
  }
}
