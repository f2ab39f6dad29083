// Reads a label file for the commands: CSV or JSON lines, by its ending.
import { readFile, stat } from "node:fs/promises";
import { JudgeError } from "../errors.js";
import { ChatRequest, toMessages } from "../http/chat-schema.js";
import type { Envelope } from "../prompt/envelope.js";
import { judgedText, promptText } from "../prompt/judged-text.js";
import type { TextReader } from "../train/label-record.js";
import { type LabelRow, type Labels, parseLabels } from "../train/labels.js";

/** A text of JavaScript holds no more. */
const maxFileBytes = 2 ** 29 - 2 ** 20;

/** Prompts are read as the server reads them. */
function textReader(envelopes: readonly Envelope[]): TextReader {
  return {
    readPrompt: (prompt) => promptText(prompt, envelopes).text,
    readMessages(messages) {
      const request = ChatRequest.safeParse({ messages });
      if (!request.success) return null;
      const read = toMessages(request.data);
      return read.some(({ content }) => content.fault) ? null : judgedText(read, "first", envelopes).text;
    },
  };
}

/** Which rows a command measures a judge on. */
export interface SplitChoice {
  /** rows to evaluate; absent: all that are not for training */
  readonly split?: string | undefined;
  /** rows the judge was trained on; floors are fitted on them */
  readonly trainSplit: string;
}

export function inEvaluatedSplit(row: LabelRow, { split, trainSplit }: SplitChoice): boolean {
  return split === undefined ? row.split !== trainSplit : row.split === split;
}

/**
 * @param envelopes what is taken off the prompts
 * @throws JudgeError `usage` naming file, row and column of the first fault
 */
export async function readLabels(file: string, envelopes: readonly Envelope[]): Promise<Labels> {
  const content = await readText(file);
  try {
    return parseLabels(content, file.endsWith(".csv") ? "csv" : "jsonl", textReader(envelopes));
  } catch (error) {
    if (!(error instanceof JudgeError)) throw error;
    throw new JudgeError("usage", `${file}: ${error.message}`, { cause: error });
  }
}

/** @throws JudgeError `usage` */
export async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > maxFileBytes) {
      throw new JudgeError("usage", `${file} has ${size} bytes, wanted at most ${maxFileBytes}; split it`);
    }
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof JudgeError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError("usage", `${file} cannot be read (${code}); give the path of a file`, {
      cause: error,
    });
  }
}
