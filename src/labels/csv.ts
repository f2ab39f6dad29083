// CSV by RFC 4180, with CRLF, LF or CR as line end. Knows nothing of columns.
import { JudgeError } from "../errors.js";

export interface CsvRecord {
  readonly fields: readonly string[];
  /** where it starts, from 1 */
  readonly line: number;
}

/**
 * The records of the text, one at a time; blank lines and a leading byte order mark are passed over.
 * @throws JudgeError `usage` naming the line of a quote that is not closed, or not at a field's edge
 */
export function* parseCsv(text: string): Generator<CsvRecord> {
  const cursor = { position: text.startsWith("\uFEFF") ? 1 : 0, line: 1 };
  while (cursor.position < text.length) {
    const { line } = cursor;
    const fields: string[] = [];
    const start = cursor.position;
    for (;;) {
      fields.push(text[cursor.position] === '"' ? quotedField(text, cursor) : plainField(text, cursor));
      if (text[cursor.position] !== ",") break;
      cursor.position++;
    }
    const blank = cursor.position === start;
    passLineEnd(text, cursor);
    if (!blank) yield { fields, line };
  }
}

interface Cursor {
  position: number;
  line: number;
}

function plainField(text: string, cursor: Cursor): string {
  const start = cursor.position;
  let end = start;
  while (end < text.length) {
    const character = text[end];
    if (character === "," || character === "\n" || character === "\r") break;
    if (character === '"') {
      throw refused(cursor.line, "found a quote inside a field without quotes");
    }
    end++;
  }
  cursor.position = end;
  return text.slice(start, end);
}

function quotedField(text: string, cursor: Cursor): string {
  const { line } = cursor;
  const parts: string[] = [];
  let start = cursor.position + 1;
  for (;;) {
    const quote = text.indexOf('"', start);
    if (quote < 0) throw refused(line, "found a quote that is not closed before the end of the file");
    parts.push(text.slice(start, quote));
    start = quote + 1;
    if (text[start] !== '"') break;
    parts.push('"');
    start++;
  }
  cursor.position = start;
  const field = parts.join("");
  cursor.line += field.match(/\r\n|\n|\r/g)?.length ?? 0;
  const next = text[start];
  if (next !== undefined && next !== "," && next !== "\n" && next !== "\r") {
    throw refused(cursor.line, "found text after the quote that closes a field");
  }
  return field;
}

function passLineEnd(text: string, cursor: Cursor): void {
  if (cursor.position >= text.length) return;
  cursor.position += text.startsWith("\r\n", cursor.position) ? 2 : 1;
  cursor.line++;
}

function refused(line: number, finding: string): JudgeError {
  return new JudgeError("usage", {
    found: `line ${line}: ${finding}`,
    remedy: "put the field in quotes and double the quotes inside it",
  });
}

/** Whether a header's column is the index that pandas writes where it is not told not to. */
export function isIndexColumn(name: string, place: number): boolean {
  return place === 0 && /^(Unnamed: 0)?$/.test(name);
}

/** Records as CSV with LF line ends; what a spreadsheet would take for a formula stays as it is. */
export function writeCsv(records: readonly (readonly string[])[]): string {
  const field = (value: string) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return records.map((fields) => `${fields.map(field).join(",")}\n`).join("");
}
