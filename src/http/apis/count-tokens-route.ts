// POST /v1/messages/count_tokens: what /v1/messages would say as input_tokens of the same request. Clients ask it how much of a
// model's window a request takes; a judge reads one message of it, so that no request has to be made shorter for its sake.
import type * as z from "zod";
import { countTokens } from "../../judge/count-tokens.js";
import { judgedText } from "../../prompt/judged-text.js";
import { chatDialect, readMessages } from "../../prompt/message-list.js";
import { readBody } from "../body/body.js";
import { clientSignal, jsonAnswer, type RequestContext, type Service, withRegistry } from "../service.js";
import { MessagesRequest, type TokenCount } from "./messages-schema.js";

export async function answerCountTokens(service: Service, context: RequestContext): Promise<Response> {
  const request = await readBody(context.env.incoming, MessagesRequest, service.limits);
  const count = await withRegistry(service, async (registry) => {
    const judge = registry.find(request.model);
    const { text } = judgedText(readMessages(request.messages, chatDialect), judge.message, judge.envelopes);
    return text === null ? 0 : countTokens(judge, text, clientSignal(context));
  });
  const answer: z.infer<typeof TokenCount> = { input_tokens: count };
  return jsonAnswer(context, answer);
}
