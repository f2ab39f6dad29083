// Reads a file of text that a user names, and names it in the faults that are found in it.
import { readFile, stat } from "node:fs/promises";
import { JudgeError } from "../errors.js";
import { decodeText } from "../input/decode-text.js";

/** A text of JavaScript holds no more. */
const maxFileBytes = 2 ** 29 - 2 ** 20;

/** @throws JudgeError `usage` for what is no file of UTF-8 text */
export async function readText(file: string): Promise<string> {
  return decodeText(await readBytes(file), file, "usage");
}

/** What `read` gives; the file's name stands before the faults that it finds. */
export function inFile<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof JudgeError)) throw error;
    throw new JudgeError("usage", { found: `${file}: ${error.message}`, cause: error });
  }
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size > maxFileBytes) {
      throw new JudgeError("usage", {
        found: `${file} has ${size} bytes`,
        wanted: `at most ${maxFileBytes}`,
        remedy: "split it",
      });
    }
    return await readFile(file);
  } catch (error) {
    if (error instanceof JudgeError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError("usage", {
      found: `${file} cannot be read (${code})`,
      remedy: "give the path of a file",
      cause: error,
    });
  }
}
