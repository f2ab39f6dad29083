// When a well-formed request cannot be judged: the reasons, and the verdict that sends it to the strong model.
// Pure; whether an abstention becomes an HTTP error instead is decided in http/.
import type { JudgeError } from "../errors.js";
import type { CapabilityVerdict } from "./capability.js";

/**
 * no_user_text: nothing to read; deadline: too late; overloaded: more is asked than can be done; encoder_down: no encoder; encoder_error: it failed on this text;
 * internal: a bug of this program.
 */
export const abstainReasons = [
  "no_user_text",
  "deadline",
  "overloaded",
  "encoder_down",
  "encoder_error",
  "internal",
] as const;
export type AbstainReason = (typeof abstainReasons)[number];

/** The reason to abstain that an error behind a well-formed request stands for. */
export function abstainReasonOf({ code }: JudgeError): AbstainReason {
  return abstainReasons.find((reason) => reason === code) ?? "internal";
}

/** Rule `none` and p_solve 0: every threshold above 0 routes to the strong model. */
export function abstainingVerdict(crux: string): CapabilityVerdict {
  return { crux, primaryRule: "none", pSolve: 0 };
}
