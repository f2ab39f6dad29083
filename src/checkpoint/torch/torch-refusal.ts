// The error for a torch file that is not as it should be: what was found, what was wanted, what to do.
import { JudgeError } from "../../errors.js";

/**
 * @param place what was read: `torch zip`, `data.pkl`, `llm-router: transforms."weak"`
 * @param finding `found …, wanted …`
 */
export function torchRefusal(
  place: string,
  finding: string,
  remedy = "restore the file from its original",
): JudgeError {
  return new JudgeError("checkpoint", { found: `${place}: ${finding}`, remedy: remedy });
}
