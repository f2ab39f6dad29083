// Chat messages → the text that is judged: the first (or latest) user message that has any. Pure; knows no API schema.
import { isVisible } from "../visible-text.js";
import { withoutRouterText } from "./router-text.js";

/** A message whose content has been brought to text parts. */
export interface Message {
  readonly role: string;
  readonly content: Content;
}

export interface Content {
  /** texts of the message's text parts, in order */
  readonly texts: readonly string[];
  /** parts that are not text: images, audio, files */
  readonly otherParts: number;
}

export interface JudgedText {
  /** text parts joined by a line feed; null when no user message has visible text */
  readonly text: string | null;
  /** parts of the judged message that were not read (of all user messages when there is no text) */
  readonly ignoredParts: number;
}

/** Which user message is judged. */
export type JudgedMessage = "first" | "latest";

/**
 * The text of the first, or the latest, user message with visible text, unchanged but for lone surrogates (replaced by
 * U+FFFD). Developer, system, assistant and tool messages are not read, nor what a router adds in the user's name.
 */
export function judgedText(messages: readonly Message[], which: JudgedMessage = "first"): JudgedText {
  let ignoredParts = 0;
  const own = withoutRouterText(messages);
  for (const { role, content } of which === "first" ? own : own.toReversed()) {
    if (role !== "user") continue;
    const text = readableText(content.texts.join("\n"));
    if (text !== null) return { text, ignoredParts: content.otherParts };
    ignoredParts += content.otherParts;
  }
  return { text: null, ignoredParts };
}

/** The text with lone surrogates replaced by U+FFFD; null when nothing in it is visible. */
export function readableText(text: string): string | null {
  return isVisible(text) ? text.toWellFormed() : null;
}
