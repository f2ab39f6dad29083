// JSON lines whose faults are named by row, line and field.
import type * as z from "zod";
import type { ErrorText } from "../errors.js";
import { type Place, refusedAt } from "./label-record.js";

/** Longer lines are refused before they are parsed. */
const maxLineCharacters = 32_000_000;

/**
 * Every line's value with its place; blank lines and a byte order mark are passed over.
 * @param wanted what a row must be, for the message
 * @throws JudgeError `usage` naming row, line and field of the first fault
 */
export function* readJsonRows<T>(
  text: string,
  schema: z.ZodType<T>,
  wanted: string,
): Generator<{ place: Place; value: T }> {
  let row = 0;
  let start = text.startsWith("\uFEFF") ? 1 : 0;
  for (let line = 1; start < text.length; line++) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const place = { row: row + 1, line };
    if (end - start > maxLineCharacters) {
      const finding = `found a line of ${end - start} characters, wanted at most ${maxLineCharacters}`;
      throw refusedAt(place, null, { found: finding, remedy: "write one JSON object a line" });
    }
    const content = text.slice(start, end).trim();
    start = end + 1;
    if (content === "") continue;
    row++;
    yield { place, value: checked(place, parseLine(place, content), { schema, wanted }) };
  }
}

function parseLine(place: Place, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    throw refusedAt(place, null, faultOf(content, error as SyntaxError));
  }
}

/** What is wrong with a line that does not parse. Of the parser's message only the kind is used. */
function faultOf(content: string, { message }: SyntaxError): ErrorText {
  const withoutStrings = content.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const [word] = /\bNaN\b|-?\bInfinity\b/.exec(withoutStrings) ?? [];
  if (word !== undefined)
    return { found: `found ${word}, which JSON does not have`, remedy: "write null for what is not known" };
  if (content.startsWith("["))
    return { found: "found the start of an array", wanted: "one object a line, without brackets" };
  if (/\}\s*,$/.test(content))
    return { found: "found a comma after the object", wanted: "one object a line, without commas" };
  const position = Number(/at position (\d+)/.exec(message)?.[1]);
  const wanted = "one object a line";
  if (/end of JSON|unterminated/i.test(message) || position === content.length) {
    const found = "found an object that does not end in its line";
    return { found, wanted, remedy: "in the last line, the file is cut off" };
  }
  return { found: "found no JSON", remedy: `wanted ${wanted}` };
}

function checked<T>(
  place: Place,
  value: unknown,
  { schema, wanted }: { schema: z.ZodType<T>; wanted: string },
): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  if (path.length === 0) throw refusedAt(place, null, { found: `found ${kindOf(value)}`, wanted });
  throw refusedAt(place, `field ${path.join(".")}`, { found: message });
}

/** For a schema's `error`: what was found and what was wanted. */
export function wanted(what: string): { error: (issue: { readonly input?: unknown }) => string } {
  return { error: ({ input }) => `found ${kindOf(input)}, wanted ${what}` };
}

/** A value's kind; numbers and truth values themselves, but no text of the user's. */
function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === "") return "an empty string";
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return `a string of ${value.length} characters`;
  return Array.isArray(value) ? "an array" : "an object";
}
