// Whether a reader sees anything in a text. It is asked of a user's text and of what an encoder gets of it.

/**
 * A character that a reader sees. White space, control and format characters, halves of surrogate pairs,
 * default-ignorable characters, U+FFFD and the Braille blank are none.
 */
const visible = /[^\s\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\uFFFD\u2800]/u;

export function isVisible(text: string): boolean {
  return visible.test(text);
}
