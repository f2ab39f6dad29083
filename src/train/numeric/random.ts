// The generator of chance in training and evaluation: sfc32 (PractRand), seeded. Not for secrets.

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

/** Its state in an Int32Array: three times as fast as in variables, which outgrow small integers. */
function sfc32(seed: number): () => number {
  const state = Int32Array.of(seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, 0x9e3779b9, 1);
  const next = () => {
    const b = state[1]!;
    const c = state[2]!;
    const counter = state[3]!;
    const sum = (state[0]! + b + counter) | 0;
    state[3] = counter + 1;
    state[0] = b ^ (b >>> 9);
    state[1] = c + (c << 3);
    state[2] = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
  // nearby seeds start alike; the author's twelve rounds part them
  for (let round = 0; round < 12; round++) next();
  return next;
}
