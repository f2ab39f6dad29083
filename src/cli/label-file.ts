// Reads a label file for the commands: CSV or JSON lines, by its ending.
import { readFile, stat } from "node:fs/promises";
import { JudgeError } from "../errors.js";
import { ChatRequest, toMessages } from "../http/chat-schema.js";
import { judgedText, readableText } from "../prompt/judged-text.js";
import type { TextReader } from "../train/label-record.js";
import { type LabelRow, type Labels, parseLabels } from "../train/labels.js";

/** A text of JavaScript holds no more. */
const maxFileBytes = 2 ** 29 - 2 ** 20;

/** Prompts are read as the server reads them. */
const textReader: TextReader = {
  readPrompt: readableText,
  readMessages(messages) {
    const request = ChatRequest.safeParse({ messages });
    return request.success ? judgedText(toMessages(request.data)).text : null;
  },
};

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

/** @throws JudgeError `usage` naming file, row and column of the first fault */
export async function readLabels(file: string): Promise<Labels> {
  const content = await readText(file);
  try {
    return parseLabels(content, file.endsWith(".csv") ? "csv" : "jsonl", textReader);
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
