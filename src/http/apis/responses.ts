// OpenAI's responses. Nothing is stored, so the server cannot read an earlier response that a request names.
import * as z from "zod";
import { answerFacts } from "../../answer/answer-facts.js";
import { field, readFormat } from "../../answer/answer-format.js";
import { PrefillJudge } from "../../answer/answer-schema.js";
import { type Dialect, maxItems, messageList, readMessages } from "../../prompt/message-list.js";
import { openAiEnvelope } from "../errors.js";
import { type AnswerParts, type Api, namedEvents } from "./api.js";
import { messageJsonSchema } from "./message-json-schema.js";

export const responsesDialect: Dialect = {
  list: "input",
  textTypes: ["input_text", "output_text", "text"],
  hasOtherItems: true,
};

const inputSchema = {
  anyOf: [
    { type: "string" },
    { type: "array", minItems: 1, maxItems, items: messageJsonSchema(responsesDialect) },
  ],
};

export const ResponsesRequest = z.object({
  model: z.string().nullish(),
  /** a string is one user message */
  input: z
    .unknown()
    .transform((input) => (typeof input === "string" ? [{ role: "user", content: input }] : input))
    .pipe(messageList(responsesDialect, "wanted a string or an array of items"))
    .meta(inputSchema),
  text: z.unknown().optional(),
  /** this one and the next name a conversation that began in another request */
  previous_response_id: z.unknown().optional(),
  conversation: z.unknown().optional(),
  stream: z.boolean().nullish(),
});
type ResponsesRequest = z.infer<typeof ResponsesRequest>;

const OutputMessage = z.strictObject({
  id: z.string(),
  type: z.literal("message"),
  status: z.literal("completed"),
  role: z.literal("assistant"),
  content: z.array(
    z.strictObject({
      type: z.literal("output_text"),
      text: z.string().meta({ description: "The verdict: a JSON object, as in a chat completion." }),
      annotations: z.array(z.never()),
      logprobs: z.array(z.never()),
    }),
  ),
});

export const ResponsesAnswer = z.strictObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  status: z.literal("completed"),
  background: z.literal(false),
  error: z.null(),
  incomplete_details: z.null(),
  instructions: z.null(),
  max_output_tokens: z.null(),
  metadata: z.strictObject({}),
  model: z.string(),
  output: z.array(OutputMessage),
  parallel_tool_calls: z.literal(true),
  previous_response_id: z.null(),
  store: z.literal(false),
  temperature: z.null(),
  tool_choice: z.literal("auto"),
  tools: z.array(z.never()),
  top_p: z.null(),
  truncation: z.literal("disabled"),
  usage: z.strictObject({
    input_tokens: z.int(),
    input_tokens_details: z.strictObject({ cached_tokens: z.literal(0), cache_write_tokens: z.literal(0) }),
    output_tokens: z.literal(0),
    output_tokens_details: z.strictObject({ reasoning_tokens: z.literal(0) }),
    total_tokens: z.int(),
  }),
  prefill_judge: PrefillJudge,
});
type ResponsesAnswer = z.infer<typeof ResponsesAnswer>;

export const responses: Api<ResponsesRequest> = {
  name: "responses",
  request: { name: "ResponsesRequest", schema: ResponsesRequest },
  answer: { name: "ResponsesAnswer", schema: ResponsesAnswer },
  errors: openAiEnvelope,
  requestIdHeader: null,
  summary: "The same for clients of OpenAI's Responses API",
  description:
    "Nothing is stored: with previous_response_id or conversation, a judge of first messages abstains. " +
    "With stream: true the answer is server-sent events, from response.created to response.completed.",
  event: "an event of the Responses API as JSON",
  example: (text) => ({ input: text }),
  read: (request) => ({
    model: request.model,
    messages: readMessages(request.input, responsesDialect),
    format: readFormat(field(request.text, "format")),
    isContinued: Boolean(request.previous_response_id || request.conversation),
    isStream: request.stream === true,
  }),
  render: responseOf,
  renderStream,
  below: [],
};

/** The whole response. Nothing of the request is repeated. */
function responseOf({ id, judged, text, created }: AnswerParts<ResponsesRequest>): ResponsesAnswer {
  const { tokens } = judged.judgement;
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: created,
    status: "completed",
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model: judged.judge.id,
    output: [
      {
        id: `msg_${id}`,
        type: "message",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
      },
    ],
    parallel_tool_calls: true,
    previous_response_id: null,
    store: false,
    temperature: null,
    tool_choice: "auto",
    tools: [],
    top_p: null,
    truncation: "disabled",
    usage: {
      input_tokens: tokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: tokens,
    },
    prefill_judge: answerFacts(judged),
  };
}

/** The events of a response with one message of one text, from `response.created` to `response.completed`. */
function renderStream(parts: AnswerParts<ResponsesRequest>): string {
  const response = responseOf(parts);
  const { text } = parts;
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const item = response.output[0]!;
  const part = item.content[0]!;
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const events: readonly (readonly [string, object])[] = [
    ["response.created", { response: begun }],
    ["response.in_progress", { response: begun }],
    [
      "response.output_item.added",
      { output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    ],
    ["response.content_part.added", { ...place, part: { ...part, text: "" } }],
    ["response.output_text.delta", { ...place, delta: text, logprobs: [] }],
    ["response.output_text.done", { ...place, text, logprobs: [] }],
    ["response.content_part.done", { ...place, part }],
    ["response.output_item.done", { output_index: 0, item }],
    ["response.completed", { response }],
  ];
  return namedEvents(events.map(([type, rest], index) => [type, { sequence_number: index, ...rest }]));
}
