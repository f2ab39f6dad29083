// An exception behind one text, as an error that tells its kind: its own message may quote the text.
import { JudgeError } from "../errors.js";

/** @param finding in our words */
export function encoderFault(finding: string, cause: unknown): JudgeError {
  if (cause instanceof JudgeError) return cause.within(finding).withCode("encoder_error");
  return new JudgeError("encoder_error", { found: `${finding}: ${kindOf(cause)}`, cause });
}

function kindOf(cause: unknown): string {
  return cause instanceof Error && /^[A-Za-z]{1,40}$/.test(cause.name) ? cause.name : "an unknown error";
}
