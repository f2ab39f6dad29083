// What a judge says of one text, or that it says nothing.
import type { JudgeError } from "../errors.js";
import type { AbstainReason } from "./abstention-reasons.js";

/** Stages of one judgement, in milliseconds; `queue` is waiting and transport. */
export interface Stages {
  readonly queue: number;
  readonly tokenize: number;
  readonly prefill: number;
  readonly head: number;
}

/** `hit`: kept from an earlier request; `shared`: from another request's run; `miss`: from its own run. */
export type CacheResult = "hit" | "shared" | "miss";

export interface Judgement {
  /** null when abstained */
  readonly pSolve: number | null;
  /** by output name; empty when abstained */
  readonly probabilities: Readonly<Record<string, number>>;
  /** the same before calibration */
  readonly raw: Readonly<Record<string, number>>;
  readonly tokens: number;
  readonly truncated: boolean;
  /** how the probabilities came about; null when abstained */
  readonly cache: CacheResult | null;
  readonly abstained: AbstainReason | null;
  /** what failed, where that is why it abstained */
  readonly error: JudgeError | null;
  readonly milliseconds: Stages;
}

/** What is answered instead of a probability. */
export function abstained(
  reason: AbstainReason,
  { error = null, waitedMs = 0 }: { error?: JudgeError | null; waitedMs?: number } = {},
): Judgement {
  return {
    pSolve: null,
    probabilities: {},
    raw: {},
    tokens: 0,
    truncated: false,
    cache: null,
    abstained: reason,
    error,
    milliseconds: { queue: waitedMs, tokenize: 0, prefill: 0, head: 0 },
  };
}
