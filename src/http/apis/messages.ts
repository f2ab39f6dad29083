// Anthropic's messages, with its own envelope of errors, and its count of tokens.
import * as z from "zod";
import { answerFacts } from "../../answer/answer-facts.js";
import { field, readFormat } from "../../answer/answer-format.js";
import { PrefillJudge } from "../../answer/answer-schema.js";
import { countTokens } from "../../judge/count-tokens.js";
import { judgedText } from "../../prompt/judged-text.js";
import { chatDialect, messageList, readMessages } from "../../prompt/message-list.js";
import { wordsOf } from "../errors.js";
import { clientSignal, type RequestContext, type Service, withRegistry } from "../service.js";
import { type AnswerParts, type Api, namedEvents } from "./api.js";
import { messageJsonSchema } from "./message-json-schema.js";

export const MessagesRequest = z.object({
  model: z.string().nullish(),
  messages: messageList(chatDialect).meta({ items: messageJsonSchema(chatDialect) }),
  output_config: z.unknown().optional(),
  output_format: z.unknown().optional(),
  stream: z.boolean().nullish(),
});
type MessagesRequest = z.infer<typeof MessagesRequest>;

export const MessagesAnswer = z.strictObject({
  id: z.string(),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string(),
  content: z.array(
    z.strictObject({
      type: z.literal("text"),
      text: z.string().meta({ description: "The verdict: a JSON object, as in a chat completion." }),
    }),
  ),
  stop_reason: z.literal("end_turn"),
  stop_sequence: z.null(),
  usage: z.strictObject({
    input_tokens: z.int(),
    output_tokens: z.literal(0),
    cache_creation_input_tokens: z.literal(0),
    cache_read_input_tokens: z.literal(0),
  }),
  prefill_judge: PrefillJudge,
});
type MessagesAnswer = z.infer<typeof MessagesAnswer>;

export const TokenCount = z.strictObject({ input_tokens: z.int().min(0) });

export const MessagesErrorAnswer = z.strictObject({
  type: z.literal("error"),
  error: z.strictObject({ type: z.string(), message: z.string() }),
  request_id: z.string(),
});

export const messages: Api<MessagesRequest> = {
  name: "messages",
  request: { name: "MessagesRequest", schema: MessagesRequest },
  answer: { name: "MessagesAnswer", schema: MessagesAnswer },
  errors: {
    name: "MessagesError",
    schema: MessagesErrorAnswer,
    render: ({ message }, status, requestId) => ({
      type: "error",
      error: { type: wordsOf(status).type, message },
      request_id: requestId,
    }),
  },
  requestIdHeader: "request-id",
  summary: "The same for clients of Anthropic's Messages API",
  description:
    "With stream: true the answer is server-sent events, from message_start to message_stop. Errors come in the " +
    "envelope of that API.",
  event: "an event of the Messages API as JSON",
  example: (text) => ({ messages: [{ role: "user", content: text }] }),
  read: (request) => ({
    model: request.model,
    messages: readMessages(request.messages, chatDialect),
    format: readFormat(field(request.output_config, "format") ?? request.output_format),
    isContinued: false,
    isStream: request.stream === true,
  }),
  render: messageOf,
  renderStream,
  below: [
    {
      name: "count_tokens",
      path: "/count_tokens",
      summary: "What /v1/messages would say as input_tokens: the tokens that the judge reads",
      answer: { name: "TokenCount", schema: TokenCount },
      respond: respondTokenCount,
    },
  ],
};

/** The whole message. Nothing is generated, so output_tokens is 0. */
function messageOf({ id, judged, text }: AnswerParts<MessagesRequest>): MessagesAnswer {
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model: judged.judge.id,
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: {
      input_tokens: judged.judgement.tokens,
      output_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    },
    prefill_judge: answerFacts(judged),
  };
}

/** The events of a message with one block of text, from `message_start` to `message_stop`. */
function renderStream(parts: AnswerParts<MessagesRequest>): string {
  const message = messageOf(parts);
  const { stop_reason, stop_sequence, usage } = message;
  const { text } = parts;
  return namedEvents([
    ["message_start", { message: { ...message, content: [], stop_reason: null } }],
    ["content_block_start", { index: 0, content_block: { type: "text", text: "" } }],
    ["content_block_delta", { index: 0, delta: { type: "text_delta", text } }],
    ["content_block_stop", { index: 0 }],
    ["message_delta", { delta: { stop_reason, stop_sequence }, usage }],
    ["message_stop", {}],
  ]);
}

/** What the same request would have as its input_tokens, which is what a judge reads of it. */
function respondTokenCount(
  service: Service,
  context: RequestContext,
  request: MessagesRequest,
): Promise<z.infer<typeof TokenCount>> {
  return withRegistry(service, async (registry) => {
    const { judge } = registry.find(request.model);
    const { text } = judgedText(readMessages(request.messages, chatDialect), judge.message, judge.envelopes);
    return { input_tokens: text === null ? 0 : await countTokens(judge, text, clientSignal(context)) };
  });
}
