// POST /v1/score: bare probabilities for a list of prompts.
import * as z from "zod";
import { milliseconds, setJudgeHeaders } from "../answer/answer.js";
import type { ScoreAnswer, ScoreResult } from "../answer/answer-schema.js";
import type { Judgement } from "../judge/judgement.js";
import type { Registry } from "../judge/registry.js";
import { scoreBatches } from "../judge/score.js";
import { type PromptText, promptText } from "../prompt/judged-text.js";
import { readBody } from "./body/body.js";
import {
  clientSignal,
  enforceOnFailure,
  jsonAnswer,
  type RequestContext,
  record,
  type Service,
  withRegistry,
} from "./service.js";

export const ScoreRequest = z.strictObject({
  model: z.string().nullish(),
  // counted before each is looked at: a body of millions must not cost millions of issues
  prompts: z
    .array(z.unknown())
    .min(1, { error: "wanted at least one prompt" })
    .max(1000, { error: "wanted at most 1,000 prompts" })
    .pipe(z.array(z.string())),
});

export async function answerScore(service: Service, context: RequestContext): Promise<Response> {
  const request = await readBody(context.env.incoming, ScoreRequest, service.limits);
  return withRegistry(service, (registry) => scorePrompts(service, context, registry, request));
}

async function scorePrompts(
  service: Service,
  context: RequestContext,
  registry: Registry,
  request: z.infer<typeof ScoreRequest>,
): Promise<Response> {
  const judge = registry.find(request.model);
  const judgements: Judgement[] = [];
  const { arrivedMs, headers } = context.get("facts");
  const signal = clientSignal(context);
  const prompts = request.prompts.map((prompt) => promptText(prompt, judge.envelopes));
  for (const { envelopes = [] } of prompts) service.metrics.unwrapped(judge.id, envelopes);
  const texts = prompts.map(({ text }) => text);
  for await (const batch of scoreBatches(judge, texts, { signal: () => signal, isBulk: true })) {
    for (const judgement of batch) {
      enforceOnFailure(service, judge, judgement);
      record(service, context, judge, judgement, service.clock() - arrivedMs);
    }
    judgements.push(...batch);
  }
  const totalMs = service.clock() - arrivedMs;
  const answer: z.infer<typeof ScoreAnswer> = {
    model: judge.id,
    results: judgements.map((judgement, place) => toResult(judgement, prompts[place]!)),
    milliseconds: milliseconds(totalMs),
  };
  setJudgeHeaders(headers, judge);
  return jsonAnswer(context, answer);
}

/** One judgement in the words of the wire. */
export function toResult(judgement: Judgement, { envelopes }: PromptText): z.infer<typeof ScoreResult> {
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
