// Chat messages → the text that is judged: the first or the latest user message with visible text.
import { JudgeError } from "../errors.js";
import { isVisible } from "../input/visible-text.js";
import { type Envelope, summed, type TakenEnvelope, unwrap } from "./envelope.js";
import type { Message } from "./message.js";
import { withoutRouterText } from "./router-text.js";

export interface JudgedText {
  /** the text parts joined by line feeds; null when no user message has visible text */
  readonly text: string | null;
  /** parts of the judged message that are not text; without a judged message, those of all user messages */
  readonly ignoredParts: number;
  /** what was taken off this text and off the messages that were passed over before it; absent: nothing */
  readonly envelopes?: readonly TakenEnvelope[];
}

/** A prompt as a judge reads it. */
export type PromptText = Pick<JudgedText, "text" | "envelopes">;

/** Which user message is judged. */
export const judgedMessages = ["first", "latest"] as const;
export type JudgedMessage = (typeof judgedMessages)[number];

/**
 * The text of the first or the latest user message that has visible text once its envelopes are off. Lone
 * surrogates become U+FFFD. Messages of other roles are not read, nor is what a router adds for the user.
 * @throws JudgeError `invalid_request` when a message that must be read is malformed
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
      throw new JudgeError("invalid_request", { ...content.fault, param: content.fault.place });
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

/** A prompt that is no message, read as the text of a message is read. */
export function promptText(prompt: string, envelopes: readonly Envelope[]): PromptText {
  const { text, taken } = unwrap(prompt, envelopes);
  return { text: readableText(text), ...(taken.length > 0 && { envelopes: taken }) };
}

/** The text with lone surrogates replaced by U+FFFD; null when nothing in it is visible. */
export function readableText(text: string): string | null {
  return isVisible(text) ? text.toWellFormed() : null;
}
