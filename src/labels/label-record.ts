// One record of a label file as it stands there, before records of the same prompt become one row.
import { type ErrorText, JudgeError } from "../errors.js";

/** How a prompt becomes the judged text: by the functions that serve requests. */
export interface TextReader {
  /** the prompt as a judge reads it; null when nothing in it is visible */
  readonly readPrompt: (prompt: string) => string | null;
  /** the judged text of a messages array, whatever its shape; null when there is none */
  readonly readMessages: (messages: readonly unknown[]) => string | null;
}

export interface Place {
  /** records from 1; the header of a CSV file is none */
  readonly row: number;
  /** lines from 1 */
  readonly line: number;
}

export interface LabelEntry {
  readonly output: string;
  /** share of the answers that solve the prompt, 0…1; null: not known */
  readonly solved: number | null;
  /** answers that the share is of, 1 or more */
  readonly samples: number;
  readonly outputTokens: number | null;
}

export interface LabelRecord extends Place {
  /** null: the file gives none */
  readonly id: string | null;
  readonly text: string;
  readonly split: string | null;
  readonly group: string | null;
  /** how the labels came about, e.g. measured or distilled */
  readonly source: string | null;
  readonly weight: number;
  readonly entries: readonly LabelEntry[];
}

/** Longer prompts are refused: no encoder reads them, and a quote left open makes a whole file one field. */
const maxPromptCharacters = 10_000_000;

/** The error for a record, or a field of it. */
export function refusedAt({ row, line }: Place, field: string | null, text: ErrorText): JudgeError {
  const record = `row ${row} (line ${line})`;
  return new JudgeError("usage", { ...text, place: field === null ? record : `${record}, ${field}` });
}

/** A name of the user's for a message: in quotes, cut beyond `longest` characters. */
export function quoted(name: string, longest = 40): string {
  return JSON.stringify(name.length > longest ? `${name.slice(0, longest - 1)}…` : name);
}

/**
 * The judged text, if it is one.
 * @param text as TextReader gives it
 * @throws JudgeError `usage` for null and for a text that is too long
 */
export function checkedText(place: Place, field: string, text: string | null): string {
  if (text === null)
    throw refusedAt(place, field, {
      found: "found no visible text",
      wanted: "a prompt",
      remedy: "fill it or remove the row",
    });
  if (text.length <= maxPromptCharacters) return text;
  const finding = `found ${text.length} characters, wanted at most ${maxPromptCharacters}`;
  throw refusedAt(place, field, {
    found: finding,
    remedy: "shorten it, or see whether a quote before it is left open",
  });
}
