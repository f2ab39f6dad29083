// An error without the place that was named last, where the title of a report names that place already.
import { asJudgeError, JudgeError } from "../errors.js";

export function withoutOutermostPlace(error: unknown): JudgeError {
  const named = asJudgeError(error);
  return named.cause instanceof JudgeError ? named.cause : named;
}
