// Cuts a text that is too long: first by characters, then by tokens. The template stays whole.
import type { Truncation, View } from "../view.js";

/** Characters looked at for each token. Only long runs of white space have more, and lose some. */
const charactersPerToken = 16;

/** Cuts a text of more than 16 × maxTokens UTF-16 units to that size, never inside a surrogate pair. */
export function cutCharacters(text: string, view: View): { text: string; cut: boolean } {
  const limit = view.maxTokens * charactersPerToken;
  if (text.length <= limit) return { text, cut: false };
  if (view.truncation === "right")
    return { text: text.slice(0, isPairAt(text, limit) ? limit - 1 : limit), cut: true };
  const headSize = Math.ceil(limit / 2);
  const head = text.slice(0, isPairAt(text, headSize) ? headSize - 1 : headSize);
  const tailStart = text.length - (limit - headSize);
  const tail = text.slice(isPairAt(text, tailStart) ? tailStart + 1 : tailStart);
  return { text: head + tail, cut: true };
}

/** Token ids in three parts: what precedes the user's text, the text, what follows it. */
export interface TokenParts {
  readonly prefix: readonly number[];
  readonly text: readonly number[];
  readonly suffix: readonly number[];
  /** how many ids at the start and the end are the template's own words; `middle` keeps them */
  readonly lead: number;
  readonly trail: number;
  /** true where `right` truncation cuts through the suffix (chat templates) instead of keeping it ([SEP]) */
  readonly suffixIsText: boolean;
}

/** At most `maxTokens` ids of the parts, in order. */
export function cutTokens(
  parts: TokenParts,
  maxTokens: number,
  truncation: Truncation,
): { ids: number[]; truncated: boolean } {
  const { prefix, text, suffix } = parts;
  const size = prefix.length + text.length + suffix.length;
  if (size <= maxTokens) return { ids: [...prefix, ...text, ...suffix], truncated: false };
  const room = maxTokens - prefix.length - suffix.length;
  if (truncation === "middle") {
    const headSize = parts.lead + Math.ceil((room - parts.lead - parts.trail) / 2);
    const tail = text.slice(text.length - (room - headSize));
    return { ids: [...prefix, ...text.slice(0, headSize), ...tail, ...suffix], truncated: true };
  }
  if (parts.suffixIsText)
    return { ids: [...prefix, ...text, ...suffix].slice(0, maxTokens), truncated: true };
  return { ids: [...prefix, ...text.slice(0, room), ...suffix], truncated: true };
}

/** Whether a surrogate pair spans `index`. */
function isPairAt(text: string, index: number): boolean {
  const before = text.charCodeAt(index - 1);
  const after = text.charCodeAt(index);
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}
