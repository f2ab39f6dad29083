// What an answer tells about a judgement beside the verdict, in the words of the wire.
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

/** The object `prefill_judge` that stands beside the verdict. */
export function answerFacts({ judge, judgement, ignoredParts, envelopes, totalMs }: Judged) {
  const { queue, tokenize, prefill, head } = judgement.milliseconds;
  const { abstained, ...result } = scoreResult(judgement, envelopes);
  return {
    judge: judge.id,
    checkpoint: judge.checkpoint.hash,
    encoder: judge.encoder.id,
    output: judge.output,
    ...result,
    ignored_parts: ignoredParts,
    milliseconds: {
      queue: milliseconds(queue),
      tokenize: milliseconds(tokenize),
      prefill: milliseconds(prefill),
      head: milliseconds(head),
      total: milliseconds(totalMs),
    },
    abstained,
  };
}

/** One judgement, as `/v1/score` and the command `score` give it. */
export function scoreResult(judgement: Judgement, envelopes: Judged["envelopes"]) {
  return {
    p_solve: judgement.pSolve,
    probabilities: judgement.probabilities,
    raw: judgement.raw,
    tokens: judgement.tokens,
    truncated: judgement.truncated,
    ...(envelopes && { envelopes: [...envelopes] }),
    cached: judgement.cache === "hit",
    cache: judgement.cache,
    abstained: judgement.abstained,
  };
}

/** Rounded to microseconds. */
export function milliseconds(value: number): number {
  return Math.round(value * 1000) / 1000;
}
