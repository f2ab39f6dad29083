// A verdict as OpenAI's chat completion: one object, or the server-sent events of a stream.
import { answerFacts, type Judged } from "./answer.js";

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
  const message = { role: "assistant", content: parts.content, refusal: null };
  return JSON.stringify({
    ...envelope(parts, "chat.completion"),
    choices: indices(parts).map((index) => ({ index, message, logprobs: null, finish_reason: "stop" })),
    usage: usage(parts),
    prefill_judge: answerFacts(parts.judged),
  });
}

/**
 * The completion as a stream: per choice a role chunk, the content, a finish chunk with an empty delta; then, when
 * asked for, the usage chunk; then [DONE].
 */
export function renderStream(parts: CompletionParts, includeUsage: boolean): string {
  const chunk = (choices: readonly object[], extra: object = {}) => ({
    ...envelope(parts, "chat.completion.chunk"),
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
  for (const index of indices(parts)) {
    const role = { role: "assistant", content: "", refusal: null };
    events.push(chunk([choice(index, role, null)]));
    events.push(chunk([choice(index, { content: parts.content }, null)]));
    events.push(chunk([choice(index, {}, "stop")], { prefill_judge: answerFacts(parts.judged) }));
  }
  if (includeUsage) events.push(chunk([], { usage: usage(parts) }));
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
}

function envelope({ id, created, judged }: CompletionParts, object: string) {
  return { id, object, created, model: judged.judge.id, system_fingerprint: judged.judge.checkpoint.hash };
}

/** Nothing is generated, so completion_tokens is 0. */
function usage({ judged }: CompletionParts) {
  const { tokens } = judged.judgement;
  return { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
}

function indices({ choices }: CompletionParts): number[] {
  return Array.from({ length: choices }, (_, index) => index);
}
