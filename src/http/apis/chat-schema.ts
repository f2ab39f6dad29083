// What /v1/chat/completions reads of a request.
import * as z from "zod";
import { chatDialect, messageList } from "../../prompt/message-list.js";

// here as elsewhere, what is not read is passed over without a look: there may be ten thousands of keys
export const ChatRequest = z.object({
  model: z.string().nullish(),
  messages: messageList(chatDialect),
  response_format: z.unknown().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.int().min(1).max(8).nullish(),
});
export type ChatRequest = z.infer<typeof ChatRequest>;
