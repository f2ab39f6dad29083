// Pooling of hidden states over the tokens of a text. Padding is told by the attention mask, so that the side
// it is on does not matter.

/** `mean`: over all real tokens; `last`: the last real token. */
export type PoolingMode = "mean" | "last";

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
  let tokenCount = 0;
  for (let token = firstToken; token < firstToken + sequence; token++) {
    if (mask[token] !== 1) continue;
    tokenCount++;
    const offset = token * hiddenSize;
    for (let index = 0; index < hiddenSize; index++) sums[index]! += hiddenStates[offset + index]!;
  }
  if (tokenCount === 0) throw new RangeError("a text without a real token cannot be pooled");
  tokenCount += before?.tokens ?? 0;
  const mean = new Float32Array(hiddenSize);
  for (let index = 0; index < hiddenSize; index++) mean[index] = sums[index]! / tokenCount;
  return mean;
}
