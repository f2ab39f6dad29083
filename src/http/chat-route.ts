// POST /v1/chat/completions: the judge in the seat of a generative model.
import type { Registry } from "../judge/registry.js";
import { judgedText } from "../prompt/judged-text.js";
import { answerHeaders, type Judged } from "./answer.js";
import { readBody } from "./body.js";
import { ChatRequest, toMessages } from "./chat-schema.js";
import { renderCompletion, renderStream } from "./completion.js";
import { renderContent } from "./content.js";
import {
  clientSignal,
  enforceOnFailure,
  type RequestContext,
  record,
  type Service,
  withRegistry,
} from "./service.js";

export async function answerChat(service: Service, context: RequestContext): Promise<Response> {
  const request = await readBody(context.env.incoming, ChatRequest, service.limits);
  return withRegistry(service, (registry) => judgeChat(service, context, registry, request));
}

async function judgeChat(
  service: Service,
  context: RequestContext,
  registry: Registry,
  request: ChatRequest,
): Promise<Response> {
  const judge = registry.find(request.model);
  const { text, ignoredParts } = judgedText(toMessages(request), judge.message);
  const { arrivedMs } = context.get("facts");
  const [judgement] = await judge.judge([text], { signal: clientSignal(context), arrivedMs });
  enforceOnFailure(service, judge, judgement!);

  const totalMs = service.clock() - arrivedMs;
  const judged: Judged = { judge, judgement: judgement!, ignoredParts, totalMs };
  record(service, context, judge, judgement!, totalMs);
  const parts = {
    id: `chatcmpl-${service.newId()}`,
    created: Math.floor(service.now() / 1000),
    judged,
    content: renderContent(service.sentences, judge, judgement!),
    choices: request.n ?? 1,
  };
  if (request.stream !== true) {
    return context.body(renderCompletion(parts), 200, {
      ...answerHeaders(judged),
      "content-type": "application/json",
    });
  }
  return context.body(renderStream(parts, request.stream_options?.include_usage === true), 200, {
    ...answerHeaders(judged),
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
}
