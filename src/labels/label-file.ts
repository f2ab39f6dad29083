// Reads a label file for the commands, CSV or JSON lines, and chooses its rows by their split.
import { JudgeError } from "../errors.js";
import type { Envelope } from "../prompt/envelope.js";
import { judgedText, promptText } from "../prompt/judged-text.js";
import { chatDialect, messageList, readMessages } from "../prompt/message-list.js";
import { isJsonLines, startsAsObject } from "./file-form.js";
import { quoted, type TextReader } from "./label-record.js";
import type { LabelRow } from "./label-row.js";
import { type LabelFormat, type Labels, parseLabels } from "./labels.js";
import { inFile, readText } from "./read-text.js";

/** Prompts are read as the server reads them. */
function textReader(envelopes: readonly Envelope[]): TextReader {
  return {
    readPrompt: (prompt) => promptText(prompt, envelopes).text,
    readMessages(messages) {
      const checked = messageList(chatDialect).safeParse(messages);
      if (!checked.success) return null;
      const read = readMessages(checked.data, chatDialect);
      return read.some(({ content }) => content.fault) ? null : judgedText(read, "first", envelopes).text;
    },
  };
}

/** Which rows a command measures a judge on. */
export interface SplitChoice {
  /** rows to evaluate; absent: all that are not for training */
  readonly split?: string | undefined;
  /** rows the judge was trained on; floors are fitted on them; absent: those of `usualTrainSplit` */
  readonly trainSplit?: string | undefined;
}

export const usualTrainSplit = "train";

export function inEvaluatedSplit(
  row: LabelRow,
  { split, trainSplit = usualTrainSplit }: SplitChoice,
): boolean {
  return split === undefined ? row.split !== trainSplit : row.split === split;
}

/**
 * A name that no row has would let rows of the training into the test without a word.
 * @param file its name in messages
 * @throws JudgeError `usage` for a split that the user named and no row has, and where rows name splits, none
 *   is the one of the training, and the user did not say which to evaluate
 */
export function checkSplits({ rows }: Labels, { split, trainSplit }: SplitChoice, file: string): void {
  if (split !== undefined) checkSplit(rows, split, { file, option: "--split" });
  if (trainSplit !== undefined) checkSplit(rows, trainSplit, { file, option: "--train-split" });
  const isNamed = rows.some((row) => row.split !== null);
  const isTrainingKnown = rows.some((row) => row.split === usualTrainSplit);
  if (split !== undefined || trainSplit !== undefined || !isNamed || isTrainingKnown) return;
  throw new JudgeError("usage", {
    found: `${file}: no row is of split "${usualTrainSplit}"`,
    remedy: `${splitsOf(rows)}; name those to evaluate with --split, or those that were trained on with --train-split`,
  });
}

/** @throws JudgeError `usage` with the splits there are, where no row is of this one */
export function checkSplit(
  rows: readonly LabelRow[],
  split: string,
  { file, option }: { file: string; option: string },
): void {
  if (rows.some((row) => row.split === split)) return;
  throw new JudgeError("usage", {
    found: `${file}: ${option}: no row is of split ${quoted(split)}`,
    remedy: `${splitsOf(rows)}`,
  });
}

const listedSplits = 20;

function splitsOf(rows: readonly LabelRow[]): string {
  const counts = new Map<string, number>();
  for (const { split } of rows) if (split !== null) counts.set(split, (counts.get(split) ?? 0) + 1);
  if (counts.size === 0) return "no row names one";
  const names = [...counts].map(([name, count]) => `${quoted(name)} (${count} rows)`);
  const more = names.length > listedSplits ? ` and ${names.length - listedSplits} more` : "";
  return `the file has ${names.slice(0, listedSplits).join(", ")}${more}`;
}

/**
 * @param envelopes what is taken off the prompts
 * @throws JudgeError `usage` naming file, row and column of the first fault
 */
export async function readLabels(file: string, envelopes: readonly Envelope[]): Promise<Labels> {
  const content = await readText(file);
  return inFile(file, () => parseLabels(content, formatOf(file, content), textReader(envelopes)));
}

function formatOf(file: string, content: string): LabelFormat {
  if (/\.csv$/i.test(file)) return "csv";
  return isJsonLines(file) || startsAsObject(content) ? "jsonl" : "csv";
}
