// Labels as JSON lines: id, prompt or messages, split, group, source, weight, labels, samples.
import * as z from "zod";
import { readJsonRows, wanted } from "./json-rows.js";
import {
  checkedText,
  type LabelEntry,
  type LabelRecord,
  type Place,
  quoted,
  refusedAt,
  type TextReader,
} from "./label-record.js";

const name = z.string(wanted("a string")).trim();
const outputName = z.string().trim().min(1);
const label = wanted("true, false, a share from 0 to 1, or null");
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
      z.union([z.boolean(), z.number().min(0, label).max(1, label)], label).nullable(),
      wanted("an object that gives true, false, a share or null by output"),
    )
    .refine((labels) => Object.keys(labels).length > 0, { error: "found no output, wanted at least one" }),
  samples: z
    .record(
      outputName,
      z.int(wanted("a whole number")).positive(wanted("1 or more")).nullable(),
      wanted("an object that gives numbers of answers by output"),
    )
    .nullish(),
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
 * @param ignored collects the names of fields that nothing reads
 * @throws JudgeError `usage` naming row, line and field of the first fault
 */
export function* readJsonlLabels(
  text: string,
  reader: TextReader,
  ignored: Set<string>,
): Generator<LabelRecord> {
  for (const { place, value: row } of readJsonRows(text, Row, "a JSON object with prompt and labels")) {
    for (const field of unknownFields(place, row)) ignored.add(field);
    yield {
      ...place,
      id: row.id ?? null,
      text: readText(place, row, reader),
      split: row.split || null,
      group: row.group || null,
      source: row.source || null,
      weight: row.weight ?? 1,
      entries: readEntries(place, row),
    };
  }
}

function readEntries(place: Place, { labels, samples, output_tokens: tokens }: Row): LabelEntry[] {
  const unlabelled = Object.keys(samples ?? {}).find((output) => !Object.hasOwn(labels, output));
  if (unlabelled !== undefined) {
    throw refusedAt(place, `field samples.${quoted(unlabelled)}`, {
      found: "found an output without a label",
      wanted: "one of labels",
    });
  }
  return Object.entries(labels).map(([output, solved]) => ({
    output,
    solved: solved === null ? null : Number(solved),
    samples: ownValue(samples, output) ?? 1,
    outputTokens: ownValue(tokens, output),
  }));
}

function ownValue(
  values: Readonly<Record<string, number | null>> | null | undefined,
  output: string,
): number | null {
  return values != null && Object.hasOwn(values, output) ? values[output]! : null;
}

/**
 * @throws JudgeError `usage` for a field that another spelling would make known: its values would be dropped
 */
function unknownFields(place: Place, row: Row): string[] {
  const unknown = Object.keys(row).filter((field) => !Object.hasOwn(Row.shape, field));
  for (const field of unknown) {
    const meant = field.trim().toLowerCase();
    if (!Object.hasOwn(Row.shape, meant)) continue;
    throw refusedAt(place, `field ${quoted(field)}`, {
      found: "is not known",
      remedy: `write it as ${quoted(meant)}`,
    });
  }
  return unknown;
}

function readText(place: Place, { prompt, messages }: Row, reader: TextReader): string {
  if (prompt !== undefined && messages !== undefined) {
    throw refusedAt(place, "field messages", { found: "found beside prompt", remedy: "give one of them" });
  }
  if (prompt !== undefined) return checkedText(place, "field prompt", reader.readPrompt(prompt));
  if (messages === undefined) {
    throw refusedAt(place, "field prompt", {
      found: "found nothing",
      wanted: "prompt, a string, or messages, an array",
    });
  }
  return checkedText(place, "field messages", reader.readMessages(messages));
}
