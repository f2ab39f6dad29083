// Looks at the folder that a vLLM server and this process share. Changes nothing.
import { access, constants, stat, statfs } from "node:fs/promises";
import { asJudgeError, type JudgeError } from "../../errors.js";
import { faultObservation, type Observation, observation } from "../observation.js";
import { checkFolder } from "./folder-check.js";
import { sameUserRemedy } from "./hidden-state-file.js";
import { findStale } from "./own-files.js";

/** Types of file systems that live in memory, as statfs(2) names them: tmpfs and ramfs. */
const memoryTypes = [0x01021994, 0x858458f6];

export interface FolderParts {
  readonly hiddenStatesRoot: string;
  readonly staleMs: number;
}

export async function examineFolder({
  hiddenStatesRoot: root,
  staleMs,
}: FolderParts): Promise<Observation[]> {
  let warning: JudgeError | null;
  try {
    warning = await checkFolder(root);
  } catch (error) {
    return [faultObservation("folder", asJudgeError(error))];
  }
  return [
    observation("folder", "ok", { found: root }),
    await rightsObservation(root, warning),
    await memoryObservation(root),
    await staleObservation(root, staleMs),
  ];
}

/** @param warning of those who may enter it */
async function rightsObservation(root: string, warning: JudgeError | null): Promise<Observation> {
  const { mode } = await stat(root);
  const values = { mode: (mode & 0o7777).toString(8).padStart(4, "0") };
  try {
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    const found = `this process may not read, write and delete in it (mode ${values.mode})`;
    const advice = sameUserRemedy;
    return observation("folder-rights", "wrong", { found, advice, values });
  }
  if (warning === null) return observation("folder-rights", "ok", { found: `mode ${values.mode}`, values });
  const found = `${warning.found} (mode ${values.mode})`;
  return observation("folder-rights", "warning", { found, advice: warning.remedy, values });
}

async function memoryObservation(root: string): Promise<Observation> {
  const { type } = await statfs(root);
  const inMemory = memoryTypes.includes(type);
  const found = inMemory ? "in memory" : "on a disk";
  const advice = inMemory ? null : "a folder in /dev/shm is faster, and leaves no hidden states on a disk";
  return observation("folder-memory", "ok", { found, advice, values: { in_memory: inMemory } });
}

async function staleObservation(root: string, staleMs: number): Promise<Observation> {
  const unread: string[] = [];
  const rules = { staleMs, owners: null, onError: (code: string) => void unread.push(code) };
  const stale = await findStale(root, rules).catch(() => null);
  if (stale === null) return observation("stale-files", "skipped", { found: "the folder cannot be read" });
  const bytes = stale.reduce((sum, file) => sum + file.bytes, 0);
  const values = { files: stale.length, bytes, unread: unread.length };
  if (unread.length > 0) {
    const found = `${unread.length} cannot be read (${unread[0]})`;
    const advice = "run both as the same user: serve removes only what it can read";
    return observation("stale-files", "warning", { found, advice, values });
  }
  if (stale.length === 0) return observation("stale-files", "ok", { found: "none", values });
  const found = `${stale.length} that nobody came for, ${(bytes / 1e6).toFixed(1)} MB`;
  const advice = "serve removes them; where they grow while it runs, another program asks for hidden states";
  return observation("stale-files", "warning", { found, advice, values });
}
