// The bytes of a text file → its text, UTF-8 and nothing else: a byte that is not would silently become U+FFFD.
import { type ErrorCode, JudgeError } from "../errors.js";

/** What a file is that is no UTF-8 text, by its first bytes, and what to do with it. */
const otherForms: readonly (readonly [start: readonly number[], form: string, remedy: string])[] = [
  [[0xff, 0xfe], "UTF-16", "save it as UTF-8"],
  [[0xfe, 0xff], "UTF-16", "save it as UTF-8"],
  [[0x1f, 0x8b], "a gzip file", "unpack it first"],
  [[0x28, 0xb5, 0x2f, 0xfd], "a zstd file", "unpack it first"],
  [[0x50, 0x4b, 0x03, 0x04], "a zip archive", "unpack it first"],
  [[0x50, 0x41, 0x52, 0x31], "a Parquet file", "write it as CSV or JSON lines"],
];

/**
 * The text, without a leading byte order mark.
 *
 * @param name how a message names the input
 * @throws JudgeError of the given code: another form by its name, else line and byte of what is not UTF-8
 */
export function decodeText(bytes: Uint8Array, name: string, code: ErrorCode): string {
  const other = otherForms.find(([start]) => start.every((byte, index) => bytes[index] === byte));
  if (other !== undefined) {
    throw new JudgeError(code, {
      found: `${name}: found ${other[1]}`,
      wanted: "text as UTF-8",
      remedy: `${other[2]}`,
    });
  }
  // of UTF-16 without its mark, every other byte of plain letters is 0
  if (bytes.length > 1 && (bytes[0] === 0) !== (bytes[1] === 0)) {
    throw new JudgeError(code, {
      found: `${name}: found UTF-16`,
      wanted: "text as UTF-8",
      remedy: "save it as UTF-8",
    });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new JudgeError(
      code,
      { found: `${name}${placeOfFault(bytes)}`, remedy: "save it as UTF-8" },
      { cause },
    );
  }
}

const lineFeed = 0x0a;

/** A line feed is part of no longer character, so the first line that does not decode by itself has the fault. */
function placeOfFault(bytes: Uint8Array): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let start = 0;
  for (let line = 1; start < bytes.length; line++) {
    const found = bytes.indexOf(lineFeed, start);
    const end = found < 0 ? bytes.length : found;
    const content = bytes.subarray(start, end);
    const text = decoder.decode(content);
    let offset = 0;
    for (const character of text) {
      const isReplaced = character === "\uFFFD" && !startsWithReplacement(content.subarray(offset));
      if (isReplaced) {
        const byte = content[offset]!.toString(16).toUpperCase();
        return ` line ${line}, byte ${offset + 1} of the line: found 0x${byte}, which is not UTF-8`;
      }
      offset += new TextEncoder().encode(character).length;
    }
    start = end + 1;
  }
  return ": found no UTF-8";
}

function startsWithReplacement(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbf && bytes[2] === 0xbd;
}
