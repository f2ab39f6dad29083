// RouteLLM's evaluation records (CSV, one column of True or False per model) → label rows.
import { JudgeError } from "../errors.js";
import { type CsvRecord, isIndexColumn, parseCsv } from "./csv.js";
import { quoted } from "./label-record.js";
import { normaliseText } from "./normalise.js";

export interface RoutellmFile {
  /** its group in the labels: gsm8k, or the subject of MMLU */
  readonly group: string;
  /** how messages name it */
  readonly name: string;
  readonly content: string;
}

export interface ImportedRow {
  readonly id: string;
  readonly prompt: string;
  readonly group: string;
  readonly source: "measured";
  readonly labels: Readonly<Record<string, boolean | null>>;
}

export interface ImportReport {
  readonly rows: readonly ImportedRow[];
  /** prompts that occurred before, by white space and letter case, and were left out */
  readonly duplicates: number;
  /** columns whose record cannot be right: their labels are null */
  readonly brokenColumns: readonly {
    readonly group: string;
    readonly model: string;
    readonly solvedShare: number;
  }[];
}

/** A model below the first share, where another is above the second, was recorded wrongly. */
const brokenBelow = 0.1;
const whereAbove = 0.3;

/** @throws JudgeError `usage` naming file, line and column of the first fault */
export function importRoutellm(files: readonly RoutellmFile[]): ImportReport {
  const seen = new Set<string>();
  const rows: ImportedRow[] = [];
  const brokenColumns: { group: string; model: string; solvedShare: number }[] = [];
  let duplicates = 0;
  for (const file of files) {
    const { models, records } = readRecords(file);
    const broken = new Set<string>();
    for (const { model, solvedShare } of findBroken(models, records)) {
      broken.add(model);
      brokenColumns.push({ group: file.group, model, solvedShare });
    }
    records.forEach(({ prompt, solved }, index) => {
      const key = normaliseText(prompt);
      if (seen.has(key)) {
        duplicates++;
        return;
      }
      seen.add(key);
      const labels = Object.fromEntries(
        models.map((model, column) => [model, broken.has(model) ? null : solved[column]!]),
      );
      rows.push({ id: `${file.group}-${index + 1}`, prompt, group: file.group, source: "measured", labels });
    });
  }
  return { rows, duplicates, brokenColumns };
}

const answerEnding = "_response";

/** @throws JudgeError `usage` naming file and line of what is no CSV */
function readLines(name: string, content: string): CsvRecord[] {
  try {
    return [...parseCsv(content)];
  } catch (error) {
    if (!(error instanceof JudgeError)) throw error;
    throw new JudgeError("usage", { found: `${name}: ${error.message}`, cause: error });
  }
}

interface SolvedRecord {
  readonly prompt: string;
  readonly solved: readonly boolean[];
}

function readRecords({ name, content }: RoutellmFile): { models: string[]; records: SolvedRecord[] } {
  const [header, ...lines] = readLines(name, content);
  const names = header?.fields ?? [];
  const promptColumn = names.indexOf("prompt");
  const isAnswer = (column: string) =>
    column.endsWith(answerEnding) && names.includes(column.slice(0, -answerEnding.length));
  const modelColumns = names.flatMap((column, index) =>
    index === promptColumn || isIndexColumn(column, index) || isAnswer(column) ? [] : [index],
  );
  if (promptColumn < 0 || modelColumns.length === 0) {
    const found = names.length === 0 ? "nothing" : names.map((column) => quoted(column)).join(", ");
    throw new JudgeError("usage", {
      found: `${name}: header: found ${found}`,
      wanted: "a column prompt and one for each model",
      remedy: "give a clone of RouteLLM",
    });
  }
  const records = lines.map(({ line, fields }): SolvedRecord => {
    const solved = modelColumns.map((column) => {
      const value = fields[column]?.trim().toLowerCase();
      if (value === "true" || value === "false") return value === "true";
      throw new JudgeError("usage", {
        found: `${name} line ${line}, column ${quoted(names[column]!)}: found another value`,
        wanted: "True or False",
        remedy: "restore the file",
      });
    });
    return { prompt: fields[promptColumn] ?? "", solved };
  });
  return { models: modelColumns.map((column) => names[column]!), records };
}

function findBroken(models: readonly string[], records: readonly SolvedRecord[]) {
  const shares = models.map((model, column) => ({
    model,
    solvedShare: records.filter(({ solved }) => solved[column]).length / Math.max(1, records.length),
  }));
  const isSomeAbove = shares.some(({ solvedShare }) => solvedShare > whereAbove);
  return isSomeAbove ? shares.filter(({ solvedShare }) => solvedShare < brokenBelow) : [];
}
