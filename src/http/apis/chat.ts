// OpenAI's chat completions: the judge in the seat of a generative model.
import * as z from "zod";
import { answerFacts, type Judged } from "../../answer/answer-facts.js";
import { readFormat } from "../../answer/answer-format.js";
import { PrefillJudge } from "../../answer/answer-schema.js";
import { chatDialect, messageList, readMessages } from "../../prompt/message-list.js";
import { openAiEnvelope } from "../errors.js";
import type { AnswerParts, Api } from "./api.js";
import { messageJsonSchema } from "./message-json-schema.js";

// keys that are not read are passed over without a look: there may be tens of thousands of them
export const ChatRequest = z.object({
  model: z.string().nullish(),
  messages: messageList(chatDialect).meta({ items: messageJsonSchema(chatDialect) }),
  response_format: z.unknown().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.int().min(1).max(8).nullish(),
});
export type ChatRequest = z.infer<typeof ChatRequest>;

export const ChatCompletion = z.strictObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string(),
  system_fingerprint: z.string(),
  choices: z
    .array(
      z.strictObject({
        index: z.int().min(0),
        message: z.strictObject({
          role: z.literal("assistant"),
          content: z.string().meta({
            description:
              "The verdict: a JSON object with crux, primary_rule, capability_boundary and p_solve. " +
              "An abstention is rule none, boundary unmatched, p_solve 0.0. A request whose json_schema is a " +
              "router's custom or escalation schema gets an object of that schema.",
          }),
          refusal: z.null(),
        }),
        logprobs: z.null(),
        finish_reason: z.literal("stop"),
      }),
    )
    .min(1)
    .max(8),
  usage: z.strictObject({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() }),
  prefill_judge: PrefillJudge,
});

export const chat: Api<ChatRequest> = {
  name: "chat",
  request: { name: "ChatRequest", schema: ChatRequest },
  answer: { name: "ChatCompletion", schema: ChatCompletion },
  errors: openAiEnvelope,
  requestIdHeader: null,
  summary: "Judge the opening user message",
  description:
    "With stream: true the answer is server-sent events: for each choice a role chunk, the content, a finish chunk; " +
    "then the usage chunk if stream_options.include_usage is set; then [DONE].",
  event: "a chat.completion.chunk as JSON, or [DONE]",
  example: (text) => ({ messages: [{ role: "user", content: text }] }),
  read: ({ model, messages, response_format, stream }) => ({
    model,
    messages: readMessages(messages, chatDialect),
    format: readFormat(response_format),
    isContinued: false,
    isStream: stream === true,
  }),
  render: (parts) => ({
    ...head(parts, "chat.completion"),
    choices: choicesOf(parts, (index) => ({
      index,
      message: { role: "assistant", content: parts.text, refusal: null },
      logprobs: null,
      finish_reason: "stop",
    })),
    usage: usageOf(parts.judged),
    prefill_judge: answerFacts(parts.judged),
  }),
  renderStream,
  below: [],
};

/** For each choice a role chunk, the content and a finish chunk; then usage, when asked for; then [DONE]. */
function renderStream(parts: AnswerParts<ChatRequest>): string {
  const { judged, text, request } = parts;
  const includeUsage = request.stream_options?.include_usage === true;
  const chunk = (choices: readonly object[], extra: object = {}) => ({
    ...head(parts, "chat.completion.chunk"),
    choices,
    ...(includeUsage && { usage: null }),
    ...extra,
  });
  const choice = (index: number, delta: object, finishReason: "stop" | null) => [
    { index, delta, logprobs: null, finish_reason: finishReason },
  ];
  const events: object[] = choicesOf(parts, (index) => [
    chunk(choice(index, { role: "assistant", content: "", refusal: null }, null)),
    chunk(choice(index, { content: text }, null)),
    chunk(choice(index, {}, "stop"), { prefill_judge: answerFacts(judged) }),
  ]).flat();
  if (includeUsage) events.push(chunk([], { usage: usageOf(judged) }));
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
}

function head<Kind extends string>({ id, created, judged }: AnswerParts<ChatRequest>, object: Kind) {
  const { judge } = judged;
  return {
    id: `chatcmpl-${id}`,
    object,
    created,
    model: judge.id,
    system_fingerprint: judge.checkpoint.hash,
  };
}

/** One value for each of the equal choices that the request wants. */
function choicesOf<T>({ request }: AnswerParts<ChatRequest>, make: (index: number) => T): T[] {
  return Array.from({ length: request.n ?? 1 }, (_, index) => make(index));
}

/** Nothing is generated, so completion_tokens is 0. */
function usageOf({ judgement: { tokens } }: Judged) {
  return { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
}
