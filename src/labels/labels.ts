// Label files → rows: which model solved which prompt.
import { JudgeError } from "../errors.js";
import { readCsvLabels } from "./csv-rows.js";
import { readJsonlLabels } from "./jsonl-rows.js";
import type { TextReader } from "./label-record.js";
import type { LabelRow } from "./label-row.js";
import { mergeRecords } from "./merge.js";

export interface Labels {
  readonly outputNames: readonly string[];
  readonly rows: readonly LabelRow[];
  /** by output; null where the file has none */
  readonly medianOutputTokens: readonly (number | null)[];
  /** fields of JSON lines that nothing reads */
  readonly ignoredFields: readonly string[];
}

export type LabelFormat = "csv" | "jsonl";

/**
 * @param content the whole file
 * @throws JudgeError `usage` naming row, line and column of the first fault
 */
export function parseLabels(content: string, format: LabelFormat, reader: TextReader): Labels {
  const ignored = new Set<string>();
  const records =
    format === "csv" ? readCsvLabels(content, reader) : readJsonlLabels(content, reader, ignored);
  const merged = mergeRecords(records);
  if (merged.rows.length === 0)
    throw new JudgeError("usage", {
      found: "the file has no rows",
      remedy: "wanted one for every labelled prompt",
    });
  return { ...merged, ignoredFields: [...ignored] };
}

/** The rows with their labels in another order of outputs; null for outputs that the labels lack. */
export function withOutputs({ outputNames, rows }: Labels, wanted: readonly string[]): LabelRow[] {
  const places = wanted.map((name) => outputNames.indexOf(name));
  return rows.map((row) => ({
    ...row,
    labels: places.map((place) => row.labels[place] ?? null),
    samples: places.map((place) => row.samples[place] ?? 0),
  }));
}
