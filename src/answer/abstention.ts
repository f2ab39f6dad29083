// When a well-formed request cannot be judged: the reasons, and the verdict that sends it to the strong model.
// Pure; whether an abstention becomes an HTTP error instead is decided in http/.
import type { JudgeError } from "../errors.js";
import type { CapabilityVerdict } from "./capability.js";

/**
 * Failures: another try may find them gone. deadline: too late; overloaded: more is asked than can be done; encoder_down: no encoder;
 * encoder_error: it failed on this text; internal: a bug of this program.
 */
export const failureReasons = [
  "deadline",
  "overloaded",
  "encoder_down",
  "encoder_error",
  "internal",
] as const;
export type FailureReason = (typeof failureReasons)[number];

/**
 * no_user_text: nothing to read; no_opening_text: the conversation began in a request that is not there any more; unreadable_text: nothing of the text reaches the encoder; truncated: the judge is not to
 * judge what it has not seen whole; running_transcript: an escalation request, which a judge of prompts cannot answer;
 * no_custom_table: a request of custom mode to a judge without such a table; schema_not_met: the request's own schema does
 * not take the answer.
 */
export const abstainReasons = [
  "no_user_text",
  "no_opening_text",
  "unreadable_text",
  "truncated",
  "running_transcript",
  "no_custom_table",
  "schema_not_met",
  ...failureReasons,
] as const;
export type AbstainReason = (typeof abstainReasons)[number];

/** The reason to abstain that an error behind a well-formed request stands for. */
export function abstainReasonOf({ code }: JudgeError): AbstainReason {
  return failureReasons.find((reason) => reason === code) ?? "internal";
}

/** Whether a reason is a failure, which a configuration may turn into an HTTP error. */
export function isFailure(reason: AbstainReason): reason is FailureReason {
  return failureReasons.some((failure) => failure === reason);
}

/** Rule `none` and p_solve 0: every threshold above 0 routes to the strong model. */
export function abstainingVerdict(crux: string): CapabilityVerdict {
  return { crux, primaryRule: "none", pSolve: 0 };
}
