// Whether a reader sees anything in a text: asked of what a user typed, and of what an encoder gets of it.

/**
 * A character that a reader would see: not white space, control, format, half a surrogate pair or default-ignorable, nor
 * the replacement character or the Braille blank.
 */
const visible = /[^\s\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\uFFFD\u2800]/u;

export function isVisible(text: string): boolean {
  return visible.test(text);
}
