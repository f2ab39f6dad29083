// Pooling of hidden states over the tokens of a text. Padding is told by the attention mask, so that the side
// it is on does not matter.

/** `mean`: over all real tokens; `last`: the last real token. */
export const poolingModes = ["mean", "last"] as const;
export type PoolingMode = (typeof poolingModes)[number];

export interface PooledText {
  /** which text of the batch */
  readonly row: number;
  readonly mode: PoolingMode;
  /** tokens before those of the batch, which are the same for every text: their number and sums [hiddenSize] */
  readonly before?: { readonly tokens: number; readonly sums: Float64Array } | null;
}

/**
 * Pools one text out of a batch of hidden states.
 *
 * @param hiddenStates [batch, sequence, hiddenSize], row-major
 * @param mask [batch, sequence]: 1 for a real token, 0 for padding
 * @returns [hiddenSize]; sums in float64
 * @throws RangeError when the row has no real token
 */
export function pool(
  hiddenStates: Float32Array,
  mask: ArrayLike<number>,
  shape: { sequence: number; hiddenSize: number },
  { row, mode, before = null }: PooledText,
): Float32Array {
  const { sequence, hiddenSize } = shape;
  const firstToken = row * sequence;
  if (mode === "last") {
    for (let token = firstToken + sequence - 1; token >= firstToken; token--) {
      if (mask[token] === 1) return hiddenStates.slice(token * hiddenSize, (token + 1) * hiddenSize);
    }
    throw new RangeError("a text without a real token cannot be pooled");
  }
  const sums = before === null ? new Float64Array(hiddenSize) : before.sums.slice();
  const offsets: number[] = [];
  for (let token = firstToken; token < firstToken + sequence; token++) {
    if (mask[token] === 1) offsets.push(token * hiddenSize);
  }
  if (offsets.length === 0) throw new RangeError("a text without a real token cannot be pooled");
  addRows(sums, hiddenStates, offsets);
  const tokenCount = offsets.length + (before?.tokens ?? 0);
  const mean = new Float32Array(hiddenSize);
  for (let index = 0; index < hiddenSize; index++) mean[index] = sums[index]! / tokenCount;
  return mean;
}

/** Adds the rows at `offsets` to `sums`, in order; four at a time, since the sums' way to memory costs most. */
function addRows(sums: Float64Array, values: Float32Array, offsets: readonly number[]): void {
  const fours = offsets.length - (offsets.length % 4);
  for (let row = 0; row < fours; row += 4) {
    const [a, b, c, d] = offsets.slice(row, row + 4) as [number, number, number, number];
    for (let index = 0; index < sums.length; index++) {
      sums[index] =
        sums[index]! + values[a + index]! + values[b + index]! + values[c + index]! + values[d + index]!;
    }
  }
  for (const offset of offsets.slice(fours)) {
    for (let index = 0; index < sums.length; index++) sums[index]! += values[offset + index]!;
  }
}
