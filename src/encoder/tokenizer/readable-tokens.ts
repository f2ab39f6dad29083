// Whether anything of the user's own text is among the tokens that an encoder gets of it.
import { isVisible } from "../../input/visible-text.js";
import type { View } from "../view.js";
import type { TokenParts } from "./truncate.js";

export interface TokenText {
  /** the text of tokens; of some only a part of a character */
  decode(ids: number[]): string;
  /** stands for what the vocabulary does not have */
  readonly unknownId: number | undefined;
}

/** The template's own words at the start and the end of `text`. */
export interface TemplateWords {
  readonly lead: readonly number[];
  readonly trail: readonly number[];
}

/**
 * @returns tells whether a reader would see anything in the user's tokens among `ids`, which cutTokens made
 *   of `parts`
 */
export function createReadableCheck({ decode, unknownId }: TokenText) {
  /** by id, as far as asked */
  const visible = new Map<number, boolean>();
  const isVisibleToken = (id: number): boolean => {
    const known = visible.get(id) ?? isVisible(decode([id]));
    visible.set(id, known);
    return known;
  };
  return (ids: readonly number[], parts: TokenParts, words: TemplateWords, view: View): boolean => {
    const [start, end] = ownRange(parts, words, view);
    const known = ids.slice(start, end).filter((id) => id !== unknownId);
    return known.some(isVisibleToken) || (known.length > 0 && isVisible(decode(known)));
  };
}

/** Where the user's tokens begin and end. A token that spans template and text is the user's too. */
function ownRange(
  { prefix, text, suffix, suffixIsText }: TokenParts,
  words: TemplateWords,
  { maxTokens, truncation }: View,
): [number, number] {
  const start = prefix.length + sharedStart(words.lead, text);
  const trail = sharedStart(words.trail.toReversed(), text.toReversed());
  const whole = prefix.length + text.length - trail;
  if (prefix.length + text.length + suffix.length <= maxTokens) return [start, whole];
  if (truncation === "middle") return [start, maxTokens - suffix.length - trail];
  return [start, Math.min(whole, suffixIsText ? maxTokens : maxTokens - suffix.length)];
}

/** How many of the ids `text` begins with. */
function sharedStart(ids: readonly number[], text: readonly number[]): number {
  const other = ids.findIndex((id, index) => text[index] !== id);
  return other < 0 ? ids.length : other;
}
