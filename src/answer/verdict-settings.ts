// What an operator sets about one judge's verdicts. The registry carries it beside the judge.
import type { Served } from "../judge/registry.js";
import type { PrimaryRule } from "./capability.js";
import type { CustomVerdict } from "./custom.js";
import type { Escalation } from "./escalation.js";

export interface VerdictSettings {
  /** the rule of every capability verdict that has a probability */
  readonly primaryRule: PrimaryRule;
  /** the answer to every escalation request */
  readonly escalation: Escalation;
  /** null: no answers in custom mode */
  readonly custom: CustomVerdict | null;
}

export type ServedJudge = Served<VerdictSettings>;
