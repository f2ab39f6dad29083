// Tries whether a folder can be written before a long work begins whose result is to be saved there.
import { mkdir, open, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { JudgeError } from "../errors.js";

const trial = ".prefill-judge-trial";

/**
 * Writes a file into the folder and removes it again, and the folder too if it was missing.
 * @throws JudgeError `usage` when no file can be written into the folder
 */
export async function trySaving(folder: string): Promise<void> {
  let made: string | undefined;
  try {
    made = await mkdir(folder, { recursive: true });
    const path = join(folder, trial);
    await (await open(path, "w")).close();
    await rm(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError("usage", {
      found: `${folder} cannot be written (${code})`,
      remedy: "give the path of a writable folder",
      cause: error,
    });
  } finally {
    if (made !== undefined) await removeEmpty(folder, made);
  }
}

/** Removes the empty folders from `folder` up to `top`. */
async function removeEmpty(folder: string, top: string): Promise<void> {
  for (let path = folder; path.length >= top.length; path = dirname(path)) {
    try {
      await rmdir(path);
    } catch {
      return;
    }
  }
}
