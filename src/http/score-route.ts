// POST /v1/score: bare probabilities for a list of prompts.
import * as z from "zod";
import { milliseconds, scoreResult } from "../answer/answer-facts.js";
import { ScoreResult } from "../answer/answer-schema.js";
import type { Judgement } from "../judge/judgement.js";
import { scoreBatches } from "../judge/score.js";
import { promptText } from "../prompt/judged-text.js";
import { readBody } from "./body/body.js";
import { encoderRefusals, type Route } from "./route.js";
import {
  clientSignal,
  enforceOnFailure,
  type RequestContext,
  record,
  type Service,
  setJudgeHeaders,
  withRegistry,
} from "./service.js";

export const ScoreRequest = z.strictObject({
  model: z.string().nullish(),
  // counted before each is looked at: a body of millions must not cost millions of issues
  prompts: z
    .array(z.unknown())
    .min(1, { error: "wanted at least one prompt" })
    .max(1000, { error: "wanted at most 1,000 prompts" })
    .pipe(z.array(z.string()))
    .meta({ items: { type: "string" } }),
});

export const ScoreAnswer = z.strictObject({
  model: z.string(),
  results: z.array(ScoreResult),
  milliseconds: z.number(),
});

export function scoreRoute(service: Service): Route {
  return {
    name: "score",
    method: "POST",
    path: "/v1/score",
    isGuarded: true,
    operation: {
      summary: "Probabilities for a list of prompts: one result per prompt, in order",
      request: { name: "ScoreRequest", schema: ScoreRequest },
      answer: { json: { name: "ScoreAnswer", schema: ScoreAnswer } },
      refusals: encoderRefusals,
    },
    async handler(context) {
      const request = await readBody(context.env.incoming, ScoreRequest, service.limits);
      return context.json(await scorePrompts(service, context, request));
    },
  };
}

function scorePrompts(
  service: Service,
  context: RequestContext,
  request: z.infer<typeof ScoreRequest>,
): Promise<z.infer<typeof ScoreAnswer>> {
  return withRegistry(service, async (registry) => {
    const { judge } = registry.find(request.model);
    const judgements: Judgement[] = [];
    const { arrivedMs } = context.get("facts");
    const signal = clientSignal(context);
    const prompts = request.prompts.map((prompt) => promptText(prompt, judge.envelopes));
    for (const { envelopes = [] } of prompts) service.metrics.unwrapped(judge.id, envelopes);
    const texts = prompts.map(({ text }) => text);
    for await (const batch of scoreBatches(judge, texts, { signal: () => signal, isBulk: true })) {
      for (const judgement of batch) {
        enforceOnFailure(service, judge, judgement);
        record(service, context, { judge, judgement, totalMs: service.clock() - arrivedMs });
      }
      judgements.push(...batch);
    }
    setJudgeHeaders(context, judge);
    return {
      model: judge.id,
      results: judgements.map((judgement, place) => scoreResult(judgement, prompts[place]!.envelopes)),
      milliseconds: milliseconds(service.clock() - arrivedMs),
    };
  });
}
