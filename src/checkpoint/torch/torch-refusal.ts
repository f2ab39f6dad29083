// The errors for a torch file that is not as it should be.
import { type ErrorText, JudgeError } from "../../errors.js";

/** What to do about a pickle that asks for what no checkpoint needs. */
export const distrust = "nothing of it was run; do not trust this file";

/**
 * @param place what was read: `torch zip`, `data.pkl`, `llm-router: transforms."weak"`
 * @param text its `found` is put behind the word "found"
 */
export function torchRefusal(place: string, { found, wanted, remedy }: ErrorText): JudgeError {
  const otherwise = "restore the file from its original";
  return new JudgeError("checkpoint", {
    place,
    found: `found ${found}`,
    wanted,
    remedy: remedy ?? otherwise,
  });
}

/** The error for a zip file that is not as torch.save writes it. */
export function zipRefusal(found: string, wanted: string, remedy?: string): JudgeError {
  return torchRefusal("torch zip", { found, wanted, remedy });
}

/** The error for a data.pkl that is not as it should be. */
export function pickleRefusal(found: string, wanted: string, remedy?: string): JudgeError {
  return torchRefusal("data.pkl", { found, wanted, remedy });
}
