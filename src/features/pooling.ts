// Pooling: from the hidden states of a text's tokens to one vector. Only this file knows the modes.

/** `mean`: over all tokens; `last`: the last token. */
export const poolingModes = ["mean", "last"] as const;
export type PoolingMode = (typeof poolingModes)[number];

/** Hidden states [count, hiddenSize] of tokens that follow each other, inside a larger array. */
export interface Rows {
  /** the values themselves or, with a table, the bit patterns of 16-bit floats */
  readonly values: Float32Array | Uint16Array;
  /** [65536]: the value of each bit pattern; null where `values` are values */
  readonly table: Float32Array | null;
  /** where the first row begins */
  readonly start: number;
  /** from the beginning of one row to that of the next */
  readonly stride: number;
  readonly count: number;
}

/** The pooled vector of one text, as far as its tokens have come. */
export interface Pooler {
  /** Takes the rows of the next tokens, and keeps no reference to them. */
  addRows(rows: Rows): void;
  /**
   * The pooled vector [hiddenSize] of all rows so far.
   * @throws RangeError when there was no row
   */
  value(): Float32Array;
  /** Another pooler that has taken the same rows. */
  copy(): Pooler;
}

const poolers: Readonly<Record<PoolingMode, (hiddenSize: number) => Pooler>> = {
  mean: (hiddenSize) => meanPooler(new Float64Array(hiddenSize), 0),
  last: (hiddenSize) => lastPooler(new Float32Array(hiddenSize), 0),
};

export function createPooler(mode: PoolingMode, hiddenSize: number): Pooler {
  return poolers[mode](hiddenSize);
}

/** @param sums [hiddenSize], in float64, of `tokens` rows; this pooler's own */
function meanPooler(sums: Float64Array, tokens: number): Pooler {
  return {
    addRows(rows) {
      addToSums(sums, rows);
      tokens += rows.count;
    },
    value() {
      checkCount(tokens);
      const mean = new Float32Array(sums.length);
      for (let index = 0; index < mean.length; index++) mean[index] = sums[index]! / tokens;
      return mean;
    },
    copy: () => meanPooler(sums.slice(), tokens),
  };
}

/** @param last [hiddenSize], the last of `tokens` rows; this pooler's own */
function lastPooler(last: Float32Array, tokens: number): Pooler {
  return {
    addRows(rows) {
      if (rows.count > 0) last = valuesOf(rows, rows.count - 1, last.length);
      tokens += rows.count;
    },
    value() {
      checkCount(tokens);
      return last.slice();
    },
    copy: () => lastPooler(last.slice(), tokens),
  };
}

function checkCount(tokens: number): void {
  if (tokens === 0) throw new RangeError("a text without a token cannot be pooled");
}

/** A copy of one row, as values. */
function valuesOf({ values, table, start, stride }: Rows, index: number, hiddenSize: number): Float32Array {
  const begin = start + index * stride;
  const row = new Float32Array(hiddenSize);
  for (let index = 0; index < hiddenSize; index++) {
    const value = values[begin + index]!;
    row[index] = table === null ? value : table[value]!;
  }
  return row;
}

/** Takes four rows in one step, since reading the sums costs most. Pieces change no result. */
function addToSums(sums: Float64Array, { values, table, start, stride, count }: Rows): void {
  const noRow = table === null ? new Float32Array(sums.length) : new Uint16Array(sums.length);
  const row = (index: number) => {
    const begin = start + index * stride;
    return index < count ? values.subarray(begin, begin + sums.length) : noRow;
  };
  for (let first = 0; first < count; first += 4) {
    const four = [row(first), row(first + 1), row(first + 2), row(first + 3)] as const;
    if (table === null) addValues(sums, four);
    else addPatterns(sums, table, four);
  }
}

type FourRows = readonly [ArrayLike<number>, ArrayLike<number>, ArrayLike<number>, ArrayLike<number>];

function addValues(sums: Float64Array, [a, b, c, d]: FourRows): void {
  for (let index = 0; index < sums.length; index++) {
    sums[index] = sums[index]! + a[index]! + b[index]! + c[index]! + d[index]!;
  }
}

function addPatterns(sums: Float64Array, table: Float32Array, [a, b, c, d]: FourRows): void {
  for (let index = 0; index < sums.length; index++) {
    sums[index] =
      sums[index]! + table[a[index]!]! + table[b[index]!]! + table[c[index]!]! + table[d[index]!]!;
  }
}
