// What /v1/responses reads of a request, and what it answers.
import * as z from "zod";
import { PrefillJudge } from "../../answer/answer-schema.js";
import { type Dialect, messageList } from "../../prompt/message-list.js";

export const responsesDialect: Dialect = {
  list: "input",
  textTypes: ["input_text", "output_text", "text"],
  hasOtherItems: true,
};

export const ResponsesRequest = z.object({
  model: z.string().nullish(),
  /** a string is one user message */
  input: z
    .unknown()
    .transform((input) => (typeof input === "string" ? [{ role: "user", content: input }] : input))
    .pipe(messageList(responsesDialect, "wanted a string or an array of items")),
  text: z.unknown().optional(),
  /** each names a conversation that began in another request */
  previous_response_id: z.unknown().optional(),
  conversation: z.unknown().optional(),
  stream: z.boolean().nullish(),
});

const OutputText = z.strictObject({
  type: z.literal("output_text"),
  text: z.string().meta({ description: "The verdict: a JSON object, as in a chat completion." }),
  annotations: z.array(z.never()),
  logprobs: z.array(z.never()),
});

const OutputMessage = z.strictObject({
  id: z.string(),
  type: z.literal("message"),
  status: z.literal("completed"),
  role: z.literal("assistant"),
  content: z.array(OutputText),
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
export type ResponsesAnswer = z.infer<typeof ResponsesAnswer>;
