// Labels as JSON lines: id, prompt or messages, split, group, source, weight, labels {output: true | false | null}.
import * as z from "zod";
import { readJsonRows, wanted } from "./json-rows.js";
import { checkedText, type LabelRecord, type Place, refusedAt, type TextReader } from "./label-record.js";

const name = z.string(wanted("a string")).trim();
const outputName = z.string().trim().min(1);
const Row = z.looseObject({
  id: name.min(1, wanted("a name for the row")).nullish(),
  prompt: z.string(wanted("a string")).optional(),
  messages: z.array(z.unknown(), wanted("an array of chat messages")).optional(),
  split: name.nullish(),
  group: name.nullish(),
  source: name.nullish(),
  weight: z.number(wanted("a number above 0")).positive(wanted("a number above 0")).nullish(),
  labels: z
    .record(
      outputName,
      z.boolean(wanted("true, false or null")).nullable(),
      wanted("an object that gives true, false or null by output"),
    )
    .refine((labels) => Object.keys(labels).length > 0, { error: "found no output, wanted at least one" }),
  output_tokens: z
    .record(
      outputName,
      z.int(wanted("a whole number")).nonnegative(wanted("0 or more")).nullable(),
      wanted("an object that gives whole numbers by output"),
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
  for (const { place, value: row } of readJsonRows(text, Row, "a JSON object with prompt and labels")) {
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
        outputTokens: tokensOf(row, output),
      })),
    };
  }
}

function tokensOf({ output_tokens: tokens }: Row, output: string): number | null {
  return tokens != null && Object.hasOwn(tokens, output) ? tokens[output]! : null;
}

function readText(place: Place, { prompt, messages }: Row, reader: TextReader): string {
  if (prompt !== undefined && messages !== undefined) {
    throw refusedAt(place, "field messages", "found beside prompt; give one of them");
  }
  if (prompt !== undefined) return checkedText(place, "field prompt", reader.readPrompt(prompt));
  if (messages === undefined) {
    throw refusedAt(place, "field prompt", "found nothing, wanted prompt, a string, or messages, an array");
  }
  return checkedText(place, "field messages", reader.readMessages(messages));
}
