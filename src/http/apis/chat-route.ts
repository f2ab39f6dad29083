// POST /v1/chat/completions: the judge in the seat of a generative model.
import { readFormat } from "../../answer/answer-format.js";
import { chatDialect, readMessages } from "../../prompt/message-list.js";
import { readBody } from "../body/body.js";
import { judgeRequest } from "../judge-request.js";
import {
  eventStream,
  jsonType,
  type RequestContext,
  type Service,
  textAnswer,
  withRegistry,
} from "../service.js";
import { ChatRequest } from "./chat-schema.js";
import { renderCompletion, renderStream } from "./completion.js";

export async function answerChat(service: Service, context: RequestContext): Promise<Response> {
  const request = await readBody(context.env.incoming, ChatRequest, service.limits);
  const answer = await withRegistry(service, (registry) =>
    judgeRequest(service, context, registry, {
      model: request.model,
      messages: readMessages(request.messages, chatDialect),
      format: readFormat(request.response_format),
    }),
  );
  const { judged, content, created } = answer;
  const id = `chatcmpl-${service.newId()}`;
  const parts = { id, created, judged, content, choices: request.n ?? 1 };
  if (request.stream === true) {
    return eventStream(context, renderStream(parts, request.stream_options?.include_usage === true));
  }
  return textAnswer(context, renderCompletion(parts), jsonType);
}
