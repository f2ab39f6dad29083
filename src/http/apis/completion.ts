// A verdict as OpenAI's chat completion: one object, or the server-sent events of a stream.
import { answerFacts, type Judged } from "../../answer/answer.js";

export interface CompletionParts {
  /** `chatcmpl-…` */
  readonly id: string;
  /** seconds since 1970 */
  readonly created: number;
  readonly judged: Judged;
  /** the assistant's message: the verdict's JSON */
  readonly content: string;
  /** number of equal choices */
  readonly choices: number;
}

/** The whole completion as JSON. */
export function renderCompletion(parts: CompletionParts): string {
  const { id, created, judged, content } = parts;
  const message = { role: "assistant", content, refusal: null };
  const choices: object[] = [];
  for (let index = 0; index < parts.choices; index++) {
    choices.push({ index, message, logprobs: null, finish_reason: "stop" });
  }
  // written out: spreading an envelope takes as long as all the rest
  return JSON.stringify({
    id,
    object: "chat.completion",
    created,
    model: judged.judge.id,
    system_fingerprint: judged.judge.checkpoint.hash,
    choices,
    usage: usage(parts),
    prefill_judge: answerFacts(judged),
  });
}

/**
 * The completion as a stream: per choice a role chunk, the content, a finish chunk with an empty delta; then, when
 * asked for, the usage chunk; then [DONE].
 */
export function renderStream(parts: CompletionParts, includeUsage: boolean): string {
  const { id, created, judged } = parts;
  const chunk = (choices: readonly object[], extra: object = {}) => ({
    id,
    object: "chat.completion.chunk",
    created,
    model: judged.judge.id,
    system_fingerprint: judged.judge.checkpoint.hash,
    choices,
    ...(includeUsage && { usage: null }),
    ...extra,
  });
  const choice = (index: number, delta: object, finishReason: "stop" | null) => ({
    index,
    delta,
    logprobs: null,
    finish_reason: finishReason,
  });
  const events: unknown[] = [];
  for (let index = 0; index < parts.choices; index++) {
    const role = { role: "assistant", content: "", refusal: null };
    events.push(chunk([choice(index, role, null)]));
    events.push(chunk([choice(index, { content: parts.content }, null)]));
    events.push(chunk([choice(index, {}, "stop")], { prefill_judge: answerFacts(judged) }));
  }
  if (includeUsage) events.push(chunk([], { usage: usage(parts) }));
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
}

/** Nothing is generated, so completion_tokens is 0. */
function usage({ judged }: CompletionParts) {
  const { tokens } = judged.judgement;
  return { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
}
