// Which files are a vLLM server's hidden states: by name, kind, owner and header. Removes nothing.
import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { readStart } from "../../checkpoint/safetensors-header.js";

/** A file that is provably vLLM's, its lock, or both. */
export interface OwnFile {
  /** of what there is of the two */
  readonly paths: readonly string[];
  readonly name: string;
  readonly bytes: number;
}

export interface StaleRules {
  /** milliseconds without a change after which a file is stale */
  readonly staleMs: number;
  /** user ids that the server's files have; null: not known, any */
  readonly owners: ReadonlySet<number> | null;
  /** told the error code of a file that cannot be looked at */
  readonly onError: (code: string) => void;
}

/** Real headers have two tensors: some 150 bytes. */
export const maxHeaderBytes = 1 << 12;
export const ownTensors = ["hidden_states", "token_ids"] as const;
const lockSuffix = ".lock";
/** vLLM takes the request's id, with what its API puts before and behind it. */
const namePattern = /^(?:chat)?cmpl-[\w.:-]+\.safetensors$/;

/** Whether vLLM gives such a name to a file of hidden states. */
export function isOwnName(name: string): boolean {
  return namePattern.test(name);
}

/** The path of the lock that vLLM leaves beside a file. */
export function lockOf(path: string): string {
  return `${path}${lockSuffix}`;
}

/** What lies directly in `folder`, is vLLM's and has not changed for long. */
export async function findStale(folder: string, rules: StaleRules): Promise<OwnFile[]> {
  const listed = new Set(await readdir(folder));
  const names = [...listed].map((name) =>
    name.endsWith(lockSuffix) ? name.slice(0, -lockSuffix.length) : name,
  );
  const found: OwnFile[] = [];
  for (const name of new Set(names.filter(isOwnName))) {
    const path = join(folder, name);
    try {
      const bytes = listed.has(name) ? await bytesOfStale(path, rules) : 0;
      // the lock of a file that stays, stays
      if (bytes === null) continue;
      const hasLock = listed.has(name + lockSuffix) && (await isStaleLock(lockOf(path), rules));
      const paths = [...(listed.has(name) ? [path] : []), ...(hasLock ? [lockOf(path)] : [])];
      if (paths.length > 0) found.push({ paths, name, bytes });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // somebody came for it
      if (code !== "ENOENT") rules.onError(code ?? "unknown");
    }
  }
  return found;
}

/** null where the file is not vLLM's, or not stale. */
async function bytesOfStale(path: string, rules: StaleRules): Promise<number | null> {
  if (!(await isStale(path, rules))) return null;
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await handle.stat();
    const start = new Uint8Array(Math.min(size, 8 + maxHeaderBytes));
    const { bytesRead } = await handle.read(start, 0, start.byteLength, 0);
    return hasOwnTensors(start.subarray(0, bytesRead)) ? size : null;
  } finally {
    await handle.close();
  }
}

function hasOwnTensors(start: Uint8Array): boolean {
  try {
    const names = readStart(start, maxHeaderBytes)?.entries.map(({ name }) => name) ?? [];
    return ownTensors.every((tensor) => names.includes(tensor));
  } catch {
    return false;
  }
}

/** A lock is empty. */
async function isStaleLock(path: string, rules: StaleRules): Promise<boolean> {
  return (await isStale(path, rules)) && (await lstat(path)).size === 0;
}

async function isStale(path: string, { staleMs, owners }: StaleRules): Promise<boolean> {
  const facts = await lstat(path);
  const isOwn = facts.isFile() && (owners === null || owners.has(facts.uid));
  return isOwn && Date.now() - facts.mtimeMs > staleMs;
}
