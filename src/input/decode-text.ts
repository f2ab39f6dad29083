// The bytes of a text file → its text. Only UTF-8 is accepted: other bytes would become U+FFFD in silence.
import { type ErrorCode, JudgeError } from "../errors.js";

/** Other forms of files by their first bytes, with what to do about them. */
const otherForms: readonly (readonly [start: readonly number[], form: string, remedy: string])[] = [
  [[0xff, 0xfe], "UTF-16", "save it as UTF-8"],
  [[0xfe, 0xff], "UTF-16", "save it as UTF-8"],
  [[0x1f, 0x8b], "a gzip file", "unpack it first"],
  [[0x28, 0xb5, 0x2f, 0xfd], "a zstd file", "unpack it first"],
  [[0x50, 0x4b, 0x03, 0x04], "a zip archive", "unpack it first"],
  [[0x50, 0x41, 0x52, 0x31], "a Parquet file", "write it as CSV or JSON lines"],
];

/**
 * The text without a leading byte order mark.
 * @param name of the input in messages
 * @throws JudgeError of the given code that names the form of the file, or the line and byte of the fault
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
  // in UTF-16 without its mark, every other byte of plain letters is 0
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
    throw new JudgeError(code, { found: `${name}${placeOfFault(bytes)}`, remedy: "save it as UTF-8", cause });
  }
}

const lineFeed = 0x0a;

/** No other character contains a line feed's byte: the fault lies in the first line that does not decode. */
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
