// The closed list of reasons for which a well-formed request is not judged.
import type { JudgeError } from "../errors.js";

/** Failures. Each is an error code too, and another try may succeed. */
export const failureReasons = [
  /** no result in time */
  "deadline",
  /** more is asked than can be done */
  "overloaded",
  /** there is no encoder */
  "encoder_down",
  /** the encoder failed on this text */
  "encoder_error",
  /** a bug of this program */
  "internal",
] as const;
export type FailureReason = (typeof failureReasons)[number];

export const abstainReasons = [
  /** the request has no user text */
  "no_user_text",
  /** the conversation began in another request, whose messages are not in this one */
  "no_opening_text",
  /** nothing of the text reaches the encoder */
  "unreadable_text",
  /** the text was cut, and the judge only judges whole texts */
  "truncated",
  /** an escalation request, which a judge of prompts cannot answer */
  "running_transcript",
  /** a request of custom mode to a judge without such a table */
  "no_custom_table",
  /** the request's own schema does not take the answer */
  "schema_not_met",
  ...failureReasons,
] as const;
export type AbstainReason = (typeof abstainReasons)[number];

/** The reason to abstain that an error behind a well-formed request stands for. */
export function abstainReasonOf({ code }: JudgeError): FailureReason {
  return failureReasons.find((reason) => reason === code) ?? "internal";
}

/** Whether a reason is a failure. A configuration may turn failures into HTTP errors. */
export function isFailure(reason: AbstainReason): reason is FailureReason {
  return failureReasons.some((failure) => failure === reason);
}
