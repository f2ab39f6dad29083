// What is no UTF-8 is refused by line and byte, and other forms by their name.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeText } from "../../../src/input/decode-text.js";
import { refusal } from "../../support/refusal.js";

const decode = (bytes: Uint8Array) => decodeText(bytes, "labels.csv", "usage");
const latin1 = (text: string) => Buffer.from(text, "latin1");

test("UTF-8 stays as it is, U+FFFD and U+0000 in it too; a byte order mark goes", () => {
  for (const text of ["", "a", "clé\r\n\u{20BB7}\n\uFFFD\0", "ends in half a line"]) {
    assert.equal(decode(Buffer.from(text)), text);
    assert.equal(decode(Buffer.from(`\uFEFF${text}`)), text);
  }
});

describe("refused", () => {
  const cases: Readonly<Record<string, readonly [content: Uint8Array, message: string]>> = {
    "Latin-1": [
      latin1("question,model\nune cl\xe9,a\n"),
      "labels.csv line 2, byte 7 of the line: found 0xE9, which is not UTF-8; save it as UTF-8",
    ],
    "a character cut off at the end": [
      Buffer.concat([Buffer.from("\uFEFF\uFFFDa\n\n\uFFFDé"), Buffer.of(0xe2, 0x82)]),
      "labels.csv line 3, byte 6 of the line: found 0xE2, which is not UTF-8; save it as UTF-8",
    ],
    "a surrogate": [
      Buffer.of(0x61, 0xed, 0xa0, 0x80),
      "labels.csv line 1, byte 2 of the line: found 0xED, which is not UTF-8; save it as UTF-8",
    ],
    "UTF-16": [
      Buffer.from("\uFEFFquestion", "utf16le"),
      "labels.csv: found UTF-16, wanted text as UTF-8; save it as UTF-8",
    ],
    "UTF-16, the other end first": [
      Buffer.from("\uFEFFquestion", "utf16le").swap16(),
      "labels.csv: found UTF-16, wanted text as UTF-8; save it as UTF-8",
    ],
    "UTF-16 without a mark": [
      Buffer.from("question", "utf16le"),
      "labels.csv: found UTF-16, wanted text as UTF-8; save it as UTF-8",
    ],
    gzip: [
      Buffer.of(0x1f, 0x8b, 8, 0),
      "labels.csv: found a gzip file, wanted text as UTF-8; unpack it first",
    ],
    zip: [
      Buffer.from("PK\x03\x04 and more"),
      "labels.csv: found a zip archive, wanted text as UTF-8; unpack it first",
    ],
    Parquet: [
      Buffer.from("PAR1 and more"),
      "labels.csv: found a Parquet file, wanted text as UTF-8; write it as CSV or JSON lines",
    ],
  };
  for (const [name, [content, message]] of Object.entries(cases)) {
    test(name, () => {
      assert.equal(refusal("usage", () => decode(content)).message, message);
    });
  }
});
