// The folder that a vLLM server and this process share, looked at piece by piece for whoever sets it up. Changes nothing.
import { access, constants, stat, statfs } from "node:fs/promises";
import { type Finding, faultFinding, finding } from "../../doctor/finding.js";
import { asJudgeError } from "../../errors.js";
import { checkFolder } from "./folder-check.js";
import { findStale } from "./own-files.js";

/** Types of file systems that live in memory, as statfs(2) names them: tmpfs and ramfs. */
const memoryTypes = [0x01021994, 0x858458f6];

export interface FolderParts {
  readonly hiddenStatesRoot: string;
  readonly staleMs: number;
}

export async function examineFolder({ hiddenStatesRoot: root, staleMs }: FolderParts): Promise<Finding[]> {
  let warning: string | null;
  try {
    warning = await checkFolder(root);
  } catch (error) {
    return [faultFinding("folder", asJudgeError(error).message)];
  }
  return [
    finding("folder", "ok", root),
    await rightsFinding(root, warning),
    await memoryFinding(root),
    await staleFinding(root, staleMs),
  ];
}

/** @param warning of those who may enter it */
async function rightsFinding(root: string, warning: string | null): Promise<Finding> {
  const { mode } = await stat(root);
  const values = { mode: (mode & 0o7777).toString(8).padStart(4, "0") };
  try {
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    const found = `this process may not read, write and delete in it (mode ${values.mode})`;
    const advice = "run both as the same user, or chmod it to 0770 with a group that has both";
    return finding("folder-rights", "wrong", found, advice, values);
  }
  if (warning === null) return finding("folder-rights", "ok", `mode ${values.mode}`, null, values);
  const { found, advice } = faultFinding("folder-rights", warning);
  return finding("folder-rights", "warning", `${found} (mode ${values.mode})`, advice, values);
}

async function memoryFinding(root: string): Promise<Finding> {
  const { type } = await statfs(root);
  const inMemory = memoryTypes.includes(type);
  const found = inMemory ? "in memory" : "on a disk";
  const advice = inMemory ? null : "a folder in /dev/shm is faster, and leaves no hidden states on a disk";
  return finding("folder-memory", "ok", found, advice, { in_memory: inMemory });
}

async function staleFinding(root: string, staleMs: number): Promise<Finding> {
  const unread: string[] = [];
  const rules = { staleMs, owners: null, onError: (code: string) => void unread.push(code) };
  const stale = await findStale(root, rules).catch(() => null);
  if (stale === null) return finding("stale-files", "skipped", "the folder cannot be read");
  const bytes = stale.reduce((sum, file) => sum + file.bytes, 0);
  const values = { files: stale.length, bytes, unread: unread.length };
  if (unread.length > 0) {
    const found = `${unread.length} cannot be read (${unread[0]})`;
    const advice = "run both as the same user: serve removes only what it can read";
    return finding("stale-files", "warning", found, advice, values);
  }
  if (stale.length === 0) return finding("stale-files", "ok", "none", null, values);
  const found = `${stale.length} that nobody came for, ${(bytes / 1e6).toFixed(1)} MB`;
  const advice = "serve removes them; where they grow while it runs, another program asks for hidden states";
  return finding("stale-files", "warning", found, advice, values);
}
