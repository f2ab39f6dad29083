// POST /v1/responses: the judge behind OpenAI's Responses API. Nothing is stored: what a request does not carry (an earlier
// response, a conversation) cannot be read.
import { field, readFormat } from "../../answer/answer-format.js";
import { readMessages } from "../../prompt/message-list.js";
import { readBody } from "../body/body.js";
import { judgeRequest } from "../judge-request.js";
import { eventStream, jsonAnswer, type RequestContext, type Service, withRegistry } from "../service.js";
import { responseOf, responseStream } from "./responses-answer.js";
import { ResponsesRequest, responsesDialect } from "./responses-schema.js";

export async function answerResponses(service: Service, context: RequestContext): Promise<Response> {
  const request = await readBody(context.env.incoming, ResponsesRequest, service.limits);
  const answer = await withRegistry(service, (registry) =>
    judgeRequest(service, context, registry, {
      model: request.model,
      messages: readMessages(request.input, responsesDialect),
      format: readFormat(field(request.text, "format")),
      isContinued: Boolean(request.previous_response_id || request.conversation),
    }),
  );
  const parts = { id: service.newId(), ...answer };
  if (request.stream === true) return eventStream(context, responseStream(parts));
  return jsonAnswer(context, responseOf(parts));
}
