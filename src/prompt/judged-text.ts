// Chat messages → the text that is judged: the first (or latest) user message that has any. Pure; knows no API schema.
import { JudgeError } from "../errors.js";
import { isVisible } from "../input/visible-text.js";
import { type Envelope, summed, type TakenEnvelope, unwrap } from "./envelope.js";
import type { Message } from "./message.js";
import { withoutRouterText } from "./router-text.js";

export interface JudgedText {
  /** text parts joined by a line feed; null when no user message has visible text */
  readonly text: string | null;
  /** parts of the judged message that were not read (of all user messages when there is no text) */
  readonly ignoredParts: number;
  /** what was taken off the judged text, and off the messages passed over before it; absent: nothing */
  readonly envelopes?: readonly TakenEnvelope[];
}

/** A prompt as a judge reads it. */
export type PromptText = Pick<JudgedText, "text" | "envelopes">;

/** Which user message is judged. */
export const judgedMessages = ["first", "latest"] as const;
export type JudgedMessage = (typeof judgedMessages)[number];

/**
 * The text of the first, or the latest, user message that has visible text without its envelopes, unchanged but for lone
 * surrogates (replaced by U+FFFD). Developer, system, assistant and tool messages are not read, nor what a router adds in the user's name.
 *
 * @throws JudgeError `invalid_request` where a message that must be read is malformed
 */
export function judgedText(
  messages: readonly Message[],
  which: JudgedMessage = "first",
  envelopes: readonly Envelope[] = [],
): JudgedText {
  let ignoredParts = 0;
  const taken: TakenEnvelope[] = [];
  const own = withoutRouterText(messages);
  for (const { role, content } of which === "first" ? own : own.toReversed()) {
    if (role !== "user") continue;
    if (content.fault !== undefined) {
      const { place, finding } = content.fault;
      throw new JudgeError("invalid_request", { found: `${place}: ${finding}` }, { param: place });
    }
    const found = promptText(content.texts.join("\n"), envelopes);
    taken.push(...(found.envelopes ?? []));
    if (found.text !== null) {
      ignoredParts = content.otherParts;
      return { text: found.text, ignoredParts, ...(taken.length > 0 && { envelopes: summed(taken) }) };
    }
    ignoredParts += content.otherParts;
  }
  return { text: null, ignoredParts, ...(taken.length > 0 && { envelopes: summed(taken) }) };
}

/** A prompt that comes by itself, read as the text of a message is. */
export function promptText(prompt: string, envelopes: readonly Envelope[]): PromptText {
  const { text, taken } = unwrap(prompt, envelopes);
  return { text: readableText(text), ...(taken.length > 0 && { envelopes: taken }) };
}

/** The text with lone surrogates replaced by U+FFFD; null when nothing in it is visible. */
export function readableText(text: string): string | null {
  return isVisible(text) ? text.toWellFormed() : null;
}
