// Inputs that some exports ask for beside ids and mask: positions of the tokens, and which text they are of.
import { Tensor } from "onnxruntime-node";

export const extraInputs = ["position_ids", "token_type_ids"] as const;

/**
 * Those of them that a model takes.
 * @param mask [batch, past + sequence]
 * @param sequence tokens of each text that are run
 */
export function feedExtra(
  inputNames: readonly string[],
  mask: Tensor,
  sequence: number,
): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = {};
  const [batch, whole] = mask.dims as [number, number];
  const zeros = () => new BigInt64Array(batch * sequence);
  if (inputNames.includes("token_type_ids"))
    feeds.token_type_ids = new Tensor("int64", zeros(), [batch, sequence]);
  if (inputNames.includes("position_ids")) {
    const positions = zeros();
    const values = mask.data as BigInt64Array;
    for (let row = 0; row < batch; row++) {
      let position = -1n;
      for (let place = 0; place < whole; place++) {
        position += values[row * whole + place]!;
        const token = place - (whole - sequence);
        // padding on the left has no position of its own
        if (token >= 0) positions[row * sequence + token] = position < 0n ? 0n : position;
      }
    }
    feeds.position_ids = new Tensor("int64", positions, [batch, sequence]);
  }
  return feeds;
}
