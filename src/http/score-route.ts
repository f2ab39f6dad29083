// POST /v1/score: bare probabilities for a list of prompts.
import * as z from "zod";
import type { Judgement } from "../judge/judge.js";
import { scoreBatches } from "../judge/score.js";
import { readableText } from "../prompt/judged-text.js";
import { judgeHeaders, milliseconds } from "./answer.js";
import { readBody } from "./body.js";
import { clientSignal, enforceOnFailure, type RequestContext, type Service } from "./service.js";

const ScoreRequest = z.strictObject({
  model: z.string().nullish(),
  prompts: z
    .array(z.string())
    .min(1, { error: "wanted at least one prompt" })
    .max(1000, { error: "wanted at most 1,000 prompts" }),
});

export async function answerScore(service: Service, context: RequestContext): Promise<Response> {
  const request = await readBody(context.env.incoming, ScoreRequest);
  const { registry } = service;
  const judge = request.model == null ? registry.first : registry.find(request.model);
  const judgements: Judgement[] = [];
  for await (const batch of scoreBatches(judge, request.prompts.map(readableText), clientSignal(context))) {
    for (const judgement of batch) enforceOnFailure(service, judge, judgement);
    judgements.push(...batch);
  }
  const { arrivedMs, id } = context.get("facts");
  const totalMs = service.clock() - arrivedMs;
  service.log.scored({ requestId: id, judge: judge.id, prompts: judgements.length, totalMs });
  const answer = { model: judge.id, results: judgements.map(toResult), milliseconds: milliseconds(totalMs) };
  return context.json(answer, 200, judgeHeaders(judge));
}

/** One judgement in the words of the wire. */
export function toResult(judgement: Judgement) {
  return {
    p_solve: judgement.pSolve,
    probabilities: judgement.probabilities,
    raw: judgement.raw,
    tokens: judgement.tokens,
    truncated: judgement.truncated,
    cached: judgement.cached,
    abstained: judgement.abstained,
  };
}
