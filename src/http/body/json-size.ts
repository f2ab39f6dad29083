// Whether a JSON text holds too many values. Parsing a large body of tiny values takes seconds.

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;

/** Whether the text has more than `limit` commas and opening brackets outside of strings. */
export function hasMoreValuesThan(bytes: Uint8Array, limit: number): boolean {
  // each value takes a byte at least
  if (bytes.length <= limit) return false;
  let count = 0;
  let inString = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === quote) inString = !inString;
    else if (inString) {
      if (byte === backslash) index++;
    } else if (byte === comma || byte === openBracket || byte === openBrace) {
      count++;
      if (count > limit) return true;
    }
  }
  return false;
}
