// POST /v1/messages: the judge behind Anthropic's Messages API.
import { field, readFormat } from "../../answer/answer-format.js";
import { chatDialect, readMessages } from "../../prompt/message-list.js";
import { readBody } from "../body/body.js";
import { judgeRequest } from "../judge-request.js";
import { eventStream, jsonAnswer, type RequestContext, type Service, withRegistry } from "../service.js";
import { messageOf, messageStream } from "./messages-answer.js";
import { MessagesRequest } from "./messages-schema.js";

export async function answerMessages(service: Service, context: RequestContext): Promise<Response> {
  const request = await readBody(context.env.incoming, MessagesRequest, service.limits);
  const answer = await withRegistry(service, (registry) =>
    judgeRequest(service, context, registry, {
      model: request.model,
      messages: readMessages(request.messages, chatDialect),
      format: readFormat(field(request.output_config, "format") ?? request.output_format),
    }),
  );
  const parts = { id: `msg_${service.newId()}`, ...answer };
  if (request.stream === true) return eventStream(context, messageStream(parts));
  return jsonAnswer(context, messageOf(parts));
}
