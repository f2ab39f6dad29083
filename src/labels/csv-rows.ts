// Labels in llm-router's CSV form: one line per question and model, with optional columns of this project.
import { JudgeError } from "../errors.js";
import { type CsvRecord, isIndexColumn, parseCsv } from "./csv.js";
import {
  checkedText,
  type LabelRecord,
  type Place,
  quoted,
  refusedAt,
  type TextReader,
} from "./label-record.js";

const required = ["question", "model", "isCorrect"] as const;
const optional = ["output_tokens", "id", "split", "group", "source", "weight", "samples"] as const;
type Column = (typeof required)[number] | (typeof optional)[number];
const known: readonly string[] = [...required, ...optional];

/** The value of a column in one record; "" where the file lacks the column. */
type Cell = (column: Column) => string;

/**
 * The records of the text, one at a time.
 * @throws JudgeError `usage` naming row, line and column of the first fault
 */
export function* readCsvLabels(text: string, reader: TextReader): Generator<LabelRecord> {
  let header: Header | null = null;
  const readSolved = createSolvedReader();
  let row = 0;
  for (const record of parseCsv(text)) {
    if (header === null) {
      header = readHeader(record);
      continue;
    }
    const place = { row: ++row, line: record.line };
    const { fields } = record;
    if (fields.length !== header.width) {
      const finding = `found ${fields.length} fields, wanted ${header.width} as in the header`;
      throw refusedAt(place, null, { found: finding, remedy: "put fields that contain commas in quotes" });
    }
    const { columns } = header;
    const cell: Cell = (column) => {
      const index = columns.get(column);
      return index === undefined ? "" : fields[index]!;
    };
    yield readRecord(place, cell, { reader, readSolved });
  }
  if (header === null)
    throw new JudgeError("usage", {
      found: "the file is empty",
      remedy: `wanted a header with ${required.join(",")}`,
    });
}

interface Header {
  readonly width: number;
  /** places by name */
  readonly columns: ReadonlyMap<string, number>;
}

function readHeader({ fields, line }: CsvRecord): Header {
  const names = fields.map((name) => name.trim());
  const unknown = names.find((name, place) => !known.includes(name) && !isIndexColumn(name, place));
  const missing = required.find((name) => !names.includes(name));
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  const fault =
    (missing !== undefined && `column ${missing} is missing`) ||
    (unknown !== undefined && `column ${quoted(unknown)} is unknown`) ||
    (repeated !== undefined && `column ${quoted(repeated)} stands there twice`);
  if (fault !== false) {
    const wanted = `wanted ${required.join(",")} and, where you have them, ${optional.join(",")}`;
    throw new JudgeError("usage", {
      found: `header (line ${line}): ${fault}`,
      remedy: `${wanted}, separated by commas`,
    });
  }
  return { width: names.length, columns: new Map(names.map((name, place) => [name, place])) };
}

interface RecordReaders {
  readonly reader: TextReader;
  readonly readSolved: SolvedReader;
}

function readRecord(place: Place, cell: Cell, { reader, readSolved }: RecordReaders): LabelRecord {
  const optionalText = (column: Column) => cell(column).trim() || null;
  const output = optionalText("model");
  if (output === null)
    throw refusedAt(place, "column model", {
      found: "found nothing",
      wanted: "the name of the model that answered",
    });
  const outputTokens = readCount(place, cell, { column: "output_tokens", from: 0 });
  const samples = readCount(place, cell, { column: "samples", from: 1 }) ?? 1;
  const weight = readNumber(place, cell, "weight") ?? 1;
  if (!(weight > 0))
    throw refusedAt(place, "column weight", { found: `found ${weight}`, wanted: "a number above 0" });
  return {
    ...place,
    id: optionalText("id"),
    text: checkedText(place, "column question", reader.readPrompt(cell("question"))),
    split: optionalText("split"),
    group: optionalText("group"),
    source: optionalText("source"),
    weight,
    entries: [{ output, solved: readSolved(place, cell("isCorrect")), samples, outputTokens }],
  };
}

function readCount(
  place: Place,
  cell: Cell,
  { column, from }: { column: "output_tokens" | "samples"; from: number },
): number | null {
  const count = readNumber(place, cell, column);
  if (count === null || (Number.isSafeInteger(count) && count >= from)) return count;
  throw refusedAt(place, `column ${column}`, {
    found: `found ${count}`,
    wanted: `a whole number from ${from}, or nothing`,
  });
}

function readNumber(place: Place, cell: Cell, column: "output_tokens" | "samples" | "weight"): number | null {
  const value = cell(column).trim();
  if (missingWords.includes(value.toLowerCase())) return null;
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  throw refusedAt(place, `column ${column}`, {
    found: `found ${quoted(value)}`,
    wanted: "a number or nothing",
  });
}

/** What spreadsheets and pandas write where there is no value. */
const missingWords = ["", "null", "none", "nan", "na", "n/a"];

type SolvedReader = (place: Place, value: string) => number | null;

/** Reads column isCorrect, which is to be of one kind all through the file: words or numbers. */
function createSolvedReader(): SolvedReader {
  let first: { place: Place; kind: string } | null = null;
  return (place, value) => {
    const word = value.trim().toLowerCase();
    if (missingWords.includes(word)) return null;
    const isWord = word === "true" || word === "false";
    const solved = isWord ? Number(word === "true") : Number(/^[\d.]+$/.test(word) ? word : Number.NaN);
    if (!(solved >= 0 && solved <= 1)) {
      const wanted = "wanted True or False, a share from 0 to 1, or nothing where it is not known";
      throw refusedAt(place, "column isCorrect", { found: `found ${quoted(value)}, ${wanted}` });
    }
    const kind = isWord ? "a word" : "a number";
    first ??= { place, kind };
    if (kind === first.kind) return solved;
    const finding = `found ${kind}, but row ${first.place.row} has ${first.kind}`;
    throw refusedAt(place, "column isCorrect", {
      found: finding,
      remedy: "write the whole column as True and False",
    });
  };
}
