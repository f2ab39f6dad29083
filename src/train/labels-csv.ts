// Labels in llm-router's CSV form: one line per question and model, with optional columns of this project.
import { JudgeError } from "../errors.js";
import { type CsvRecord, parseCsv } from "./csv.js";
import {
  checkedText,
  type LabelRecord,
  type Place,
  quoted,
  refusedAt,
  type TextReader,
} from "./label-record.js";

const required = ["question", "model", "isCorrect"] as const;
const optional = ["output_tokens", "id", "split", "group", "source", "weight"] as const;
type Column = (typeof required)[number] | (typeof optional)[number];
const known: readonly string[] = [...required, ...optional];

/** The value of a column in one record; "" where the file lacks the column. */
type Cell = (column: Column) => string;

/**
 * The records of the text, one at a time.
 *
 * @throws JudgeError `usage` naming row, line and column of the first fault
 */
export function* readCsvLabels(text: string, reader: TextReader): Generator<LabelRecord> {
  let header: ReadonlyMap<string, number> | null = null;
  const readSolved = createSolvedReader();
  let row = 0;
  for (const record of parseCsv(text)) {
    if (header === null) {
      header = readHeader(record);
      continue;
    }
    const place = { row: ++row, line: record.line };
    const { fields } = record;
    if (fields.length !== header.size) {
      const finding = `found ${fields.length} fields, wanted ${header.size} as in the header`;
      throw refusedAt(place, null, `${finding}; put fields that contain commas in quotes`);
    }
    const columns = header;
    const cell: Cell = (column) => {
      const index = columns.get(column);
      return index === undefined ? "" : fields[index]!;
    };
    yield readRecord(place, cell, { reader, readSolved });
  }
  if (header === null)
    throw new JudgeError("usage", `the file is empty; wanted a header with ${required.join(",")}`);
}

function readHeader({ fields, line }: CsvRecord): ReadonlyMap<string, number> {
  const names = fields.map((name) => name.trim());
  const unknown = names.find((name) => !known.includes(name));
  const missing = required.find((name) => !names.includes(name));
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  const fault =
    (missing !== undefined && `column ${missing} is missing`) ||
    (unknown !== undefined && `column ${quoted(unknown)} is unknown`) ||
    (repeated !== undefined && `column ${quoted(repeated)} stands there twice`);
  if (fault !== false) {
    const wanted = `wanted ${required.join(",")} and, where you have them, ${optional.join(",")}`;
    throw new JudgeError("usage", `header (line ${line}): ${fault}; ${wanted}, separated by commas`);
  }
  return new Map(names.map((name, index) => [name, index]));
}

interface RecordReaders {
  readonly reader: TextReader;
  readonly readSolved: SolvedReader;
}

function readRecord(place: Place, cell: Cell, { reader, readSolved }: RecordReaders): LabelRecord {
  const optionalText = (column: Column) => cell(column).trim() || null;
  const output = optionalText("model");
  if (output === null)
    throw refusedAt(place, "column model", "found nothing, wanted the name of the model that answered");
  const tokens = readNumber(place, cell, "output_tokens");
  if (tokens !== null && !(Number.isSafeInteger(tokens) && tokens >= 0)) {
    throw refusedAt(
      place,
      "column output_tokens",
      `found ${tokens}, wanted a whole number from 0, or nothing`,
    );
  }
  const weight = readNumber(place, cell, "weight") ?? 1;
  if (!(weight > 0)) throw refusedAt(place, "column weight", `found ${weight}, wanted a number above 0`);
  return {
    ...place,
    id: optionalText("id"),
    text: checkedText(place, "column question", reader.readPrompt(cell("question"))),
    split: optionalText("split"),
    group: optionalText("group"),
    source: optionalText("source"),
    weight,
    entries: [{ output, solved: readSolved(place, cell("isCorrect")), outputTokens: tokens }],
  };
}

function readNumber(place: Place, cell: Cell, column: "output_tokens" | "weight"): number | null {
  const value = cell(column).trim();
  if (missingWords.includes(value.toLowerCase())) return null;
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  throw refusedAt(place, `column ${column}`, `found ${quoted(value)}, wanted a number or nothing`);
}

/** What spreadsheets and pandas write where there is no value. */
const missingWords = ["", "null", "none", "nan", "na", "n/a"];
const solvedWords: Readonly<Record<string, boolean>> = {
  true: true,
  false: false,
  "1": true,
  "0": false,
  "1.0": true,
  "0.0": false,
};

type SolvedReader = (place: Place, value: string) => boolean | null;

/** Reads column isCorrect, which is to be of one kind all through the file: words or numbers. */
function createSolvedReader(): SolvedReader {
  let first: { place: Place; kind: string } | null = null;
  return (place, value) => {
    const word = value.trim().toLowerCase();
    if (missingWords.includes(word)) return null;
    const solved = Object.hasOwn(solvedWords, word) ? solvedWords[word] : undefined;
    const wanted = "wanted True or False, 1 or 0, or nothing where it is not known";
    if (solved === undefined) {
      throw refusedAt(place, "column isCorrect", `found ${quoted(value)}, ${wanted}`);
    }
    const kind = /\d/.test(word) ? "a number" : "a word";
    first ??= { place, kind };
    if (kind === first.kind) return solved;
    const finding = `found ${kind}, but row ${first.place.row} has ${first.kind}`;
    throw refusedAt(place, "column isCorrect", `${finding}; write the whole column as True and False`);
  };
}
