// Reads a file of JSON lines for the commands.
import { readFile } from "node:fs/promises";
import type * as z from "zod";
import { JudgeError } from "../errors.js";

/**
 * The rows of the file; blank lines are passed over.
 *
 * @param wanted what a row must be, for the message
 * @throws JudgeError `usage` naming the first line that is something else
 */
export async function readJsonLines<T>(file: string, schema: z.ZodType<T>, wanted: string): Promise<T[]> {
  let content: string;
  try {
    content = await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError("usage", `${file} cannot be read (${code}); give a file of JSON lines`, {
      cause: error,
    });
  }
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
