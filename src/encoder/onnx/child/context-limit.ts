// How many tokens a model really takes: its files may claim more than it has positions.
import { JudgeError } from "../../../errors.js";

/** As long as a judge reads unless told otherwise. More is not tried: a run costs its square. */
const longestTrial = 2048;

/**
 * The claimed number where a run of so many tokens works, else the largest that works.
 * @param runs whether a run of so many tokens works
 * @throws JudgeError `encoder` for a model that runs no token
 */
export async function usableTokens(
  claimed: number,
  runs: (tokens: number) => Promise<boolean>,
): Promise<number> {
  let failing = Math.min(claimed, longestTrial);
  if (await runs(failing)) return claimed;
  let working = 0;
  while (failing - working > 1) {
    const tokens = (working + failing) >> 1;
    if (await runs(tokens)) working = tokens;
    else failing = tokens;
  }
  if (working > 0) return working;
  throw new JudgeError("encoder", {
    found: "model.onnx cannot run a single token",
    remedy: "export it with inputs and outputs of any batch and sequence size",
  });
}
