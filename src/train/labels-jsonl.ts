// Labels as JSON lines: id, prompt or messages, split, group, source, weight, labels {output: true | false | null}.
import * as z from "zod";
import { JudgeError } from "../errors.js";
import { checkedText, type LabelRecord, type Place, refusedAt, type TextReader } from "./label-record.js";

/** Longer lines are refused before they are parsed. */
const maxLineCharacters = 32_000_000;

const name = z.string({ error: "wanted a string" }).trim();
const Row = z.looseObject({
  id: name.min(1, { error: "wanted a string that is not empty" }).nullish(),
  prompt: z.string({ error: "wanted a string" }).optional(),
  messages: z.array(z.unknown(), { error: "wanted an array of chat messages" }).optional(),
  split: name.nullish(),
  group: name.nullish(),
  source: name.nullish(),
  weight: z.number({ error: "wanted a number" }).positive({ error: "wanted a number above 0" }).nullish(),
  labels: z
    .record(z.string().trim().min(1), z.boolean({ error: "wanted true, false or null" }).nullable(), {
      error: "wanted an object of output names with true, false or null",
    })
    .refine((labels) => Object.keys(labels).length > 0, { error: "wanted at least one output" }),
  output_tokens: z
    .record(
      z.string().trim(),
      z.int({ error: "wanted a whole number" }).nonnegative({ error: "wanted 0 or more" }).nullable(),
    )
    .nullish(),
});
type Row = z.infer<typeof Row>;

/**
 * The records of the text, one at a time; blank lines and a leading byte order mark are passed over.
 *
 * @param ignored collects the names of fields that nothing reads
 * @throws JudgeError `usage` naming row, line and field of the first fault
 */
export function* readJsonlLabels(
  text: string,
  reader: TextReader,
  ignored: Set<string>,
): Generator<LabelRecord> {
  for (const { place, value } of readJsonLines(text)) {
    const row = checkedRow(place, value);
    for (const field of Object.keys(row)) if (!Object.hasOwn(Row.shape, field)) ignored.add(field);
    yield {
      ...place,
      id: row.id ?? null,
      text: readText(place, row, reader),
      split: row.split || null,
      group: row.group || null,
      source: row.source || null,
      weight: row.weight ?? 1,
      entries: Object.entries(row.labels).map(([output, solved]) => ({
        output,
        solved,
        outputTokens: row.output_tokens?.[output] ?? null,
      })),
    };
  }
}

/**
 * Every line's value with its place.
 *
 * @throws JudgeError `usage` naming the line that is no JSON, or too long
 */
export function* readJsonLines(text: string): Generator<{ place: Place; value: unknown }> {
  let row = 0;
  let start = text.startsWith("\uFEFF") ? 1 : 0;
  for (let line = 1; start < text.length; line++) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const place = { row: row + 1, line };
    if (end - start > maxLineCharacters) {
      const finding = `found a line of ${end - start} characters, wanted at most ${maxLineCharacters}`;
      throw refusedAt(place, null, `${finding}; write one JSON object a line`);
    }
    const content = text.slice(start, end).trim();
    start = end + 1;
    if (content === "") continue;
    row++;
    yield { place, value: parseLine(place, content) };
  }
}

function parseLine(place: Place, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    // the parser's own message quotes the text, so only its kind is told
    const finding = "found no JSON, wanted one object a line, without commas between lines";
    throw new JudgeError("usage", refusedAt(place, null, finding).message, { cause: error });
  }
}

function checkedRow(place: Place, value: unknown): Row {
  const result = Row.safeParse(value);
  if (!result.success) {
    const issue = result.error.issues[0]!;
    const field = issue.path.length === 0 ? null : `field ${issue.path.join(".")}`;
    throw refusedAt(place, field, field === null ? "wanted a JSON object with labels" : issue.message);
  }
  const { prompt, messages } = result.data;
  if (prompt === undefined && messages === undefined) {
    throw refusedAt(place, "field prompt", "is missing; wanted prompt, a string, or messages, an array");
  }
  if (prompt !== undefined && messages !== undefined) {
    throw refusedAt(place, "field messages", "found beside prompt; give one of them");
  }
  return result.data;
}

function readText(place: Place, { prompt, messages }: Row, reader: TextReader): string {
  return prompt === undefined
    ? checkedText(place, "field messages", reader.readMessages(messages!))
    : checkedText(place, "field prompt", reader.readPrompt(prompt));
}
