// Reads a file of JSON lines for the commands.
import type * as z from "zod";
import { JudgeError } from "../errors.js";
import { readText } from "./label-file.js";

/**
 * The rows of the file; blank lines are passed over.
 *
 * @param wanted what a row must be, for the message
 * @throws JudgeError `usage` naming the first line that is something else
 */
export async function readJsonLines<T>(file: string, schema: z.ZodType<T>, wanted: string): Promise<T[]> {
  const content = await readText(file);
  return content
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .flatMap((line, index) => {
      if (line.trim() === "") return [];
      const row = schema.safeParse(parseLine(line));
      if (row.success) return [row.data];
      throw new JudgeError("usage", `${file} line ${index + 1}: wanted ${wanted}`);
    });
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
