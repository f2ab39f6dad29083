// Texts of several lengths as one batch: token ids, attention mask, and where each text's tokens are.
import { Tensor } from "onnxruntime-node";

export interface Padding {
  readonly side: "left" | "right";
  readonly padId: number;
}

export interface PaddedBatch {
  /** [batch, sequence] */
  readonly inputIds: Tensor;
  /** [batch, past + sequence]: 0 for padding; every text has the past */
  readonly attentionMask: Tensor;
  readonly sequence: number;
  /** per text its first token among [batch, sequence], and how many there are */
  readonly tokens: readonly { readonly first: number; readonly count: number }[];
}

/**
 * @param batch token ids, more than `past` per text
 * @param past how many ids at the start of every text are left out, since they have run before
 */
export function padBatch(
  batch: readonly (readonly number[])[],
  past: number,
  { side, padId }: Padding,
): PaddedBatch {
  const sequence = Math.max(...batch.map((ids) => ids.length)) - past;
  const inputIds = new BigInt64Array(batch.length * sequence).fill(BigInt(padId));
  const mask = new BigInt64Array(batch.length * (past + sequence));
  const tokens = batch.map((ids, row) => {
    const count = ids.length - past;
    const skipped = side === "left" ? sequence - count : 0;
    const first = row * sequence + skipped;
    for (let index = 0; index < count; index++) inputIds[first + index] = BigInt(ids[past + index]!);
    const maskStart = row * (past + sequence);
    mask.fill(1n, maskStart, maskStart + past);
    mask.fill(1n, maskStart + past + skipped, maskStart + past + skipped + count);
    return { first, count };
  });
  return {
    inputIds: new Tensor("int64", inputIds, [batch.length, sequence]),
    attentionMask: new Tensor("int64", mask, [batch.length, past + sequence]),
    sequence,
    tokens,
  };
}
