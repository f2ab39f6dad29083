// A verdict as OpenAI's response object, or as the server-sent events of a streamed one. Nothing of the request is repeated.
import { answerFacts } from "../../answer/answer.js";
import type { JudgedAnswer } from "../judge-request.js";
import type { ResponsesAnswer } from "./responses-schema.js";

export interface ResponseParts extends JudgedAnswer {
  /** unique; the ids of response and message are made of it */
  readonly id: string;
}

/** The whole response. */
export function responseOf({ id, judged, content, created }: ResponseParts): ResponsesAnswer {
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
        content: [{ type: "output_text", text: content, annotations: [], logprobs: [] }],
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
export function responseStream(parts: ResponseParts): string {
  const response = responseOf(parts);
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const item = response.output[0]!;
  const part = item.content[0]!;
  const text = part.text;
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
  return events
    .map(
      ([type, rest], index) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: index, ...rest })}\n\n`,
    )
    .join("");
}
