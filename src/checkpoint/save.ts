// Puts the files of a checkpoint on the disk so that no reader ever sees half of one: each file is written
// under another name and made durable before any is renamed, and the file that names the others is renamed
// last. The user names the folder: in a folder that holds no checkpoint, nothing is replaced or removed.
import { lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { JudgeError } from "../errors.js";
import { readRegularFile } from "../input/regular-file.js";

/** Without this file a folder is no checkpoint. It is away while the other files change. */
const seal = "router.json";
const maxSealBytes = 2 ** 24;
/** The name of a file while it is written. No other program uses it, so the next save may replace it. */
const partName = (name: string) => `.${name}.prefill-judge-part`;

/**
 * Writes the files into `folder`, and makes it if need be. Until all are on the disk, the old ones stay.
 * @param stale files of an older checkpoint that the new one does not have
 * @throws JudgeError `checkpoint` when the folder cannot be written, or holds foreign files of these names
 */
export async function saveFiles(
  folder: string,
  files: Readonly<Record<string, Uint8Array>>,
  stale: readonly string[] = [],
): Promise<void> {
  const names = Object.keys(files).sort((a, b) => Number(a === seal) - Number(b === seal));
  const place = (name: string) => join(folder, name);
  const part = (name: string) => join(folder, partName(name));
  if (names.includes(seal)) await refuseForeign(folder, [...names, ...stale]);
  try {
    await mkdir(folder, { recursive: true });
    for (const name of names) await writeDurably(part(name), files[name]!);
    if (names.includes(seal) && names.length > 1) await rm(place(seal), { force: true });
    for (const name of stale) await rm(place(name), { force: true });
    for (const name of names) await rename(part(name), place(name));
    await syncFolder(folder);
  } catch (error) {
    await Promise.all(names.map((name) => rm(part(name), { force: true }).catch(() => {})));
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError("checkpoint", {
      found: `${folder} cannot be written (${code})`,
      remedy: "give the path of a writable folder",
      cause: error,
    });
  }
}

/** Writes one file as `saveFiles` does. */
export function saveFile(path: string, bytes: Uint8Array): Promise<void> {
  return saveFiles(dirname(path), { [basename(path)]: bytes });
}

/**
 * Files belong to a checkpoint if a router.json lies beside them, or the part of one that was being written.
 * @throws JudgeError `checkpoint` that names a file which belongs to no checkpoint
 */
export async function refuseForeign(folder: string, names: readonly string[]): Promise<void> {
  if ((await isCheckpointFile(join(folder, seal))) || (await exists(join(folder, partName(seal))))) return;
  for (const name of names) {
    if (!(await exists(join(folder, name)))) continue;
    throw new JudgeError("checkpoint", {
      found: `${folder} has a ${name} that is not of a checkpoint, and it would be lost`,
      remedy: "give another folder",
    });
  }
}

async function isCheckpointFile(path: string): Promise<boolean> {
  try {
    const wanted = { path, name: seal, code: "checkpoint", remedy: "", maxBytes: maxSealBytes } as const;
    const bytes = await readRegularFile(wanted);
    return Number.isInteger(JSON.parse(bytes.toString("utf8")).format_version);
  } catch {
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
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
