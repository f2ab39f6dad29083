// The capability verdict, in the words of Switchyard's and LiteLLM's judge protocol. Pure.
import { JudgeError } from "../errors.js";

/** primary_rule → the only capability_boundary that routers accept with it. */
const boundaryOfRule = {
  "SUP-1": "supported",
  "SUP-2": "supported",
  "SUP-3": "supported",
  "SUP-4": "supported",
  "SUP-5": "supported",
  "UNC-1": "uncertain",
  "UNC-2": "uncertain",
  "LIM-1": "unsupported",
  "LIM-2": "unsupported",
  none: "unmatched",
} as const;

export type PrimaryRule = keyof typeof boundaryOfRule;
export const primaryRules = Object.keys(boundaryOfRule) as [PrimaryRule, ...PrimaryRule[]];

/** Steps that a router adds to its threshold: 0 supported, 1 uncertain or unmatched, 2 unsupported. */
export function thresholdSteps(rule: PrimaryRule): number {
  return { supported: 0, uncertain: 1, unmatched: 1, unsupported: 2 }[boundaryOfRule[rule]];
}

interface CapabilityVerdict {
  /** a fixed sentence; never the user's text */
  readonly crux: string;
  readonly primaryRule: PrimaryRule;
  /** the probability that the weak model solves the task, in [0, 1] */
  readonly pSolve: number;
}

/** Rule `none` and p_solve 0: every threshold above 0 routes to the strong model. */
export function abstainingVerdict(crux: string): CapabilityVerdict {
  return { crux, primaryRule: "none", pSolve: 0 };
}

/**
 * The verdict as the assistant's message: one JSON object with exactly the four keys of the protocol. p_solve
 * always has a decimal point or an exponent, since LiteLLM refuses an integer.
 * @throws JudgeError `internal` for a p_solve outside of [0, 1]
 */
export function renderCapability({ crux, primaryRule, pSolve }: CapabilityVerdict): string {
  if (!(pSolve >= 0 && pSolve <= 1))
    throw new JudgeError("internal", { found: "p_solve is not within 0 and 1" });
  const boundary = boundaryOfRule[primaryRule];
  const p = Number.isInteger(pSolve) ? pSolve.toFixed(1) : String(pSolve);
  return `{"crux":${JSON.stringify(crux)},"primary_rule":"${primaryRule}","capability_boundary":"${boundary}","p_solve":${p}}`;
}
