// What /v1/messages reads of a request, and what it answers.
import * as z from "zod";
import { PrefillJudge } from "../../answer/answer-schema.js";
import { chatDialect, messageList } from "../../prompt/message-list.js";

export const MessagesRequest = z.object({
  model: z.string().nullish(),
  messages: messageList(chatDialect),
  output_config: z.unknown().optional(),
  output_format: z.unknown().optional(),
  stream: z.boolean().nullish(),
});

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
export type MessagesAnswer = z.infer<typeof MessagesAnswer>;

export const TokenCount = z.strictObject({ input_tokens: z.int().min(0) });

export const MessagesErrorAnswer = z.strictObject({
  type: z.literal("error"),
  error: z.strictObject({ type: z.string(), message: z.string() }),
  request_id: z.string(),
});
