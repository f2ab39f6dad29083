// Puts a checkpoint's files on the disk so that a reader never sees half of one: each is written beside its place, made
// durable, and renamed.
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { JudgeError } from "../errors.js";

/**
 * Writes the files into `folder`, which is made where it is missing.
 *
 * @throws JudgeError `checkpoint` when it cannot be written; what stood there before stays
 */
export async function saveFiles(folder: string, files: Readonly<Record<string, Uint8Array>>): Promise<void> {
  const entries = Object.entries(files).map(([name, bytes]) => ({ path: join(folder, name), bytes }));
  try {
    await mkdir(folder, { recursive: true });
    for (const { path, bytes } of entries) await writeDurably(partOf(path), bytes);
    for (const { path } of entries) await rename(partOf(path), path);
    await syncFolder(folder);
  } catch (error) {
    await Promise.all(entries.map(({ path }) => rm(partOf(path), { force: true })));
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError(
      "checkpoint",
      `${folder} cannot be written (${code}); give the path of a writable folder`,
      {
        cause: error,
      },
    );
  }
}

/** Writes one file, as `saveFiles` does. */
export function saveFile(path: string, bytes: Uint8Array): Promise<void> {
  return saveFiles(dirname(path), { [basename(path)]: bytes });
}

function partOf(path: string): string {
  return `${path}.part-${process.pid}`;
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, "w");
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
