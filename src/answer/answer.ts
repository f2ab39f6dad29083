// What every answer about a judgement carries beside the verdict: headers and the object `prefill_judge`.
import type { Judge } from "../judge/judge-parts.js";
import type { Judgement } from "../judge/judgement.js";
import type { TakenEnvelope } from "../prompt/envelope.js";

export interface Judged {
  readonly judge: Judge;
  readonly judgement: Judgement;
  /** parts of the judged message that are not text */
  readonly ignoredParts: number;
  /** what was taken off its text */
  readonly envelopes: readonly TakenEnvelope[] | undefined;
  /** since the request arrived */
  readonly totalMs: number;
}

/** Sets the headers that name who answered. */
export function setJudgeHeaders(headers: Record<string, string>, judge: Judge): void {
  headers["x-prefill-judge-model"] = encodeURI(judge.id);
  headers["x-prefill-judge-checkpoint"] = judge.checkpoint.hash;
}

/** Sets the headers that name who answered, and what. */
export function setAnswerHeaders(headers: Record<string, string>, { judge, judgement }: Judged): void {
  setJudgeHeaders(headers, judge);
  headers["x-prefill-judge-p-solve"] = String(judgement.pSolve ?? 0);
  if (judgement.abstained !== null) headers["x-prefill-judge-abstained"] = judgement.abstained;
}

/** The object `prefill_judge` that stands beside `choices`. */
export function answerFacts({ judge, judgement, ignoredParts, envelopes, totalMs }: Judged) {
  const { queue, tokenize, prefill, head } = judgement.milliseconds;
  return {
    judge: judge.id,
    checkpoint: judge.checkpoint.hash,
    encoder: judge.encoder.id,
    output: judge.output,
    p_solve: judgement.pSolve,
    probabilities: judgement.probabilities,
    raw: judgement.raw,
    tokens: judgement.tokens,
    truncated: judgement.truncated,
    ignored_parts: ignoredParts,
    ...(envelopes && { envelopes: [...envelopes] }),
    cached: judgement.cache === "hit",
    cache: judgement.cache,
    milliseconds: {
      queue: milliseconds(queue),
      tokenize: milliseconds(tokenize),
      prefill: milliseconds(prefill),
      head: milliseconds(head),
      total: milliseconds(totalMs),
    },
    abstained: judgement.abstained,
  };
}

/** Rounded to microseconds. */
export function milliseconds(value: number): number {
  return Math.round(value * 1000) / 1000;
}
