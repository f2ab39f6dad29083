// The one generator of chance in training and evaluation: sfc32 (Chris Doty-Humphrey, PractRand), seeded. Not for
// secrets.

export interface Random {
  /** in [0, 1), 32 bits */
  uniform(): number;
  /** a whole number in [0, limit); limit up to 2^32 */
  below(limit: number): number;
  /** standard normal, by the polar method */
  normal(): number;
  /** Fisher–Yates, in place */
  shuffle(values: Uint32Array): void;
}

/** @param seed any whole number; the same seed gives the same sequence on every machine */
export function createRandom(seed: number): Random {
  const next = sfc32(seed);
  const uniform = () => next() / 2 ** 32;
  const below = (limit: number) => Math.floor(uniform() * limit);
  let spare: number | null = null;
  return {
    uniform,
    below,
    normal() {
      if (spare !== null) {
        const value = spare;
        spare = null;
        return value;
      }
      for (;;) {
        const x = 2 * uniform() - 1;
        const y = 2 * uniform() - 1;
        const square = x * x + y * y;
        if (square === 0 || square >= 1) continue;
        const factor = Math.sqrt((-2 * Math.log(square)) / square);
        spare = y * factor;
        return x * factor;
      }
    },
    shuffle(values) {
      for (let last = values.length - 1; last > 0; last--) {
        const other = below(last + 1);
        const value = values[last]!;
        values[last] = values[other]!;
        values[other] = value;
      }
    },
  };
}

function sfc32(seed: number): () => number {
  let a = seed >>> 0;
  let b = Math.floor(seed / 2 ** 32) >>> 0;
  let c = 0x9e3779b9;
  let counter = 1;
  const next = () => {
    const sum = (((a + b) >>> 0) + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = (((c << 21) | (c >>> 11)) + sum) >>> 0;
    return sum;
  };
  // nearby seeds start alike; the author's twelve rounds part them
  for (let round = 0; round < 12; round++) next();
  return next;
}
