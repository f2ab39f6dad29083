// The routes of the chat APIs: a request becomes messages, is judged, and is answered in its API's words.
import type { Judged } from "../../answer/answer-facts.js";
import { verdictKind } from "../../answer/answer-format.js";
import { servedApis } from "../../answer/served-apis.js";
import { reasonNotToJudge, renderVerdict } from "../../answer/verdict.js";
import { abstained } from "../../judge/judgement.js";
import { judgedText } from "../../prompt/judged-text.js";
import { readBody } from "../body/body.js";
import { encoderRefusals, type Route } from "../route.js";
import {
  clientSignal,
  enforceOnFailure,
  judgementHeaders,
  type RequestContext,
  record,
  type Service,
  setJudgementHeaders,
  withRegistry,
} from "../service.js";
import type { Api, ChatRequestParts } from "./api.js";

export function apiRoutes<Request>(service: Service, api: Api<Request>): Route[] {
  const { request, errors } = api;
  const path = `/v1${servedApis[api.name].path}`;
  const shared = { method: "POST", isGuarded: true } as const;
  const read = (context: RequestContext) => readBody(context.env.incoming, request.schema, service.limits);
  const refused = { refusals: encoderRefusals, errors };
  return [
    {
      ...shared,
      name: api.name,
      path,
      operation: {
        ...refused,
        summary: api.summary,
        description:
          "Reads the text of the first user message that has any beside what its client put there; everything else " +
          "in the request is accepted and ignored. A well-formed request that cannot be judged gets 200 with an " +
          `abstaining verdict (see x-prefill-judge-abstained). ${api.description}`,
        request: { ...request, example: api.example("What is the capital of France?") },
        answer: { json: api.answer, others: { "text/event-stream": eventSchema(api.event) } },
        headers: judgementHeaders,
      },
      handler: async (context) => await answerRequest(service, context, api, await read(context)),
    },
    ...api.below.map(
      (sub): Route => ({
        ...shared,
        name: sub.name,
        path: path + sub.path,
        operation: { ...refused, summary: sub.summary, request, answer: { json: sub.answer } },
        handler: async (context) => context.json(await sub.respond(service, context, await read(context))),
      }),
    ),
  ];
}

function eventSchema(description: string): object {
  return { type: "object", required: ["data"], properties: { data: { type: "string", description } } };
}

async function answerRequest<Request>(
  service: Service,
  context: RequestContext,
  api: Api<Request>,
  request: Request,
): Promise<Response> {
  const wanted = api.read(request);
  const { judged, text } = await judgeRequest(service, context, wanted);
  const created = Math.floor(service.now() / 1000);
  const parts = { request, id: service.newId(), created, judged, text };
  if (!wanted.isStream) return context.json(api.render(parts));
  // all events are known when the first is sent
  context.header("cache-control", "no-cache");
  return context.body(api.renderStream(parts), 200, { "content-type": "text/event-stream; charset=utf-8" });
}

/**
 * Judges the request's text, counts and logs the judgement, and sets the headers of the answer.
 * @throws JudgeError `model_not_found`, `client_gone`; `invalid_request` where the judged message is
 *   malformed; with on_failure = "error" the failure
 */
async function judgeRequest(
  service: Service,
  context: RequestContext,
  { model, messages, format, isContinued }: ChatRequestParts,
): Promise<{ judged: Judged; text: string }> {
  return await withRegistry(service, async (registry) => {
    const served = registry.find(model);
    const { judge } = served;
    const { text, ignoredParts, envelopes } = judgedText(messages, judge.message, judge.envelopes);
    const reason = reasonNotToJudge(served, verdictKind(format), isContinued);
    const { arrivedMs } = context.get("facts");
    const options = { signal: () => clientSignal(context), arrivedMs };
    const [made] = reason === null ? await judge.judge([text], options) : [abstained(reason)];
    enforceOnFailure(service, judge, made!);

    const verdict = await renderVerdict(service, served, made!, format);
    const { judgement } = verdict;
    const judged = { judge, judgement, ignoredParts, envelopes, totalMs: service.clock() - arrivedMs };
    record(service, context, judged);
    service.metrics.unwrapped(judge.id, envelopes ?? []);
    setJudgementHeaders(context, judge, judgement);
    return { judged, text: verdict.text };
  });
}
