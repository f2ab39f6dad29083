// Reads a file of JSON lines for the commands.
import type * as z from "zod";
import { readJsonRows } from "./json-rows.js";
import { inFile, readText } from "./read-text.js";

/**
 * The rows of the file; blank lines are passed over.
 * @param wanted what a row must be, for the message
 * @throws JudgeError `usage` naming file, row, line and field of the first fault
 */
export async function readJsonLines<T>(file: string, schema: z.ZodType<T>, wanted: string): Promise<T[]> {
  const content = await readText(file);
  return inFile(file, () => [...readJsonRows(content, schema, wanted)].map(({ value }) => value));
}
