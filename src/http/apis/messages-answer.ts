// A verdict as Anthropic's message, or as the server-sent events of a streamed one.
import { answerFacts } from "../../answer/answer.js";
import type { JudgedAnswer } from "../judge-request.js";
import type { MessagesAnswer } from "./messages-schema.js";

export interface MessageParts extends JudgedAnswer {
  /** `msg_…` */
  readonly id: string;
}

/** The whole message. Nothing is generated, so output_tokens is 0. */
export function messageOf({ id, judged, content }: MessageParts): MessagesAnswer {
  return {
    id,
    type: "message",
    role: "assistant",
    model: judged.judge.id,
    content: [{ type: "text", text: content }],
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
export function messageStream(parts: MessageParts): string {
  const message = messageOf(parts);
  const { stop_reason, stop_sequence, usage } = message;
  const block = message.content[0]!;
  const events: readonly (readonly [string, object])[] = [
    ["message_start", { message: { ...message, content: [], stop_reason: null } }],
    ["content_block_start", { index: 0, content_block: { ...block, text: "" } }],
    ["content_block_delta", { index: 0, delta: { type: "text_delta", text: block.text } }],
    ["content_block_stop", { index: 0 }],
    ["message_delta", { delta: { stop_reason, stop_sequence }, usage }],
    ["message_stop", {}],
  ];
  return events
    .map(([type, rest]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`)
    .join("");
}
