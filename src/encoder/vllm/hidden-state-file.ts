// Takes the file that a vLLM server names: checks the path before it opens anything, waits until the file is whole, reads
// it and removes it with its lock. Does not know what is in it.
import { constants } from "node:fs";
import { type FileHandle, open, realpath, unlink } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { declaredSize } from "../../checkpoint/safetensors-header.js";
import { JudgeError } from "../../errors.js";

export interface FileRules {
  /** the only folder whose files are opened */
  readonly root: string;
  /** how long the file may take to become whole */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** told the error code when a file cannot be removed */
  readonly onLeftBehind: (code: string) => void;
}

export const fileSuffix = ".safetensors";
export const lockSuffix = `${fileSuffix}.lock`;
/** Real headers have two tensors: some 150 bytes. */
const maxHeaderBytes = 1 << 16;
/** Pauses between looks at the file; the last one repeats. */
const pausesMs = [1, 1, 2, 4, 8, 16];

/**
 * The bytes of the file at `path`; the file and its lock are gone afterwards, whatever was found.
 *
 * @param path as the server gave it
 * @throws JudgeError `encoder_error` for a path or a file that breaks a rule, or that is not whole in time;
 *   `signal.reason` when aborted
 */
export async function takeFile(path: string, rules: FileRules, signal: AbortSignal): Promise<Uint8Array> {
  const real = await checkedPath(path, rules.root);
  try {
    return await readWhole(real, rules, signal);
  } finally {
    await remove(real, rules.onLeftBehind);
  }
}

/** `path` with its folder resolved; nothing is opened. */
async function checkedPath(path: string, root: string): Promise<string> {
  const outside =
    "the vLLM server named a file outside hidden_states_root; set it to the server's shared_storage_path";
  if (!isAbsolute(path) || path.includes("\0")) throw fault(outside);
  if (!path.endsWith(fileSuffix)) {
    throw fault(`the vLLM server named a file that does not end with ${fileSuffix}`);
  }
  let folder: string;
  let allowed: string;
  try {
    [folder, allowed] = await Promise.all([realpath(dirname(path)), realpath(root)]);
  } catch (cause) {
    throw fault(outside, cause);
  }
  const inside = relative(allowed, folder);
  if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) throw fault(outside);
  return join(folder, basename(path));
}

async function readWhole(path: string, rules: FileRules, signal: AbortSignal): Promise<Uint8Array> {
  const endsAt = performance.now() + rules.timeoutMs;
  let handle: FileHandle | null = null;
  try {
    for (let look = 0; ; look++) {
      signal.throwIfAborted();
      handle ??= await openFile(path);
      const bytes = handle && (await readIfWhole(handle, rules.maxBytes));
      if (bytes !== null) return bytes;
      if (performance.now() >= endsAt) {
        const state = handle === null ? "is not there" : "is not whole";
        throw fault(
          `the vLLM server's hidden-state file ${state} after ${rules.timeoutMs} ms; check that hidden_states_root is the folder the server writes to`,
        );
      }
      await sleep(pausesMs[look] ?? pausesMs.at(-1)!, undefined, { signal }).catch(() => {});
    }
  } finally {
    await handle?.close();
  }
}

/** null while there is no such file. Neither follows a link nor waits for the other end of a pipe. */
async function openFile(path: string): Promise<FileHandle | null> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    if (code === "ELOOP") throw fault("the vLLM server's hidden-state file is a symbolic link");
    const remedy =
      code === "EACCES" || code === "EPERM"
        ? "; run both as the same user, or give the server a umask and the folder a group that let this one read"
        : "";
    throw fault(`the vLLM server's hidden-state file cannot be opened (${code})${remedy}`, error);
  }
  const facts = await handle.stat().catch(() => null);
  if (facts?.isFile()) return handle;
  await handle.close();
  throw fault("the vLLM server's hidden-state file is not a regular file");
}

/** The whole file, once its size is the one that its header gives; null until then. */
async function readIfWhole(handle: FileHandle, maxBytes: number): Promise<Uint8Array | null> {
  const { size } = await handle.stat();
  const tooLarge = (bytes: number) =>
    fault(`the vLLM server's hidden-state file has ${bytes} bytes, wanted at most ${maxBytes}`);
  if (size > maxBytes) throw tooLarge(size);
  const head = await readBytes(handle, Math.min(size, 8 + maxHeaderBytes));
  let declared: number | null;
  try {
    declared = declaredSize(head, maxHeaderBytes);
  } catch (cause) {
    throw fault("the vLLM server's hidden-state file is not a safetensors file", cause);
  }
  if (declared === null) return null;
  if (declared > maxBytes) throw tooLarge(declared);
  if (size > declared) throw fault("the vLLM server's hidden-state file is longer than its header says");
  return size < declared ? null : await readBytes(handle, size);
}

/** The first `size` bytes, or as many as there are. */
async function readBytes(handle: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let offset = 0;
  while (offset < size) {
    const { bytesRead } = await handle.read(bytes, offset, size - offset, offset);
    if (bytesRead === 0) break;
    offset += bytesRead;
  }
  return bytes.subarray(0, offset);
}

/** Removes the file, or the link or pipe in its place, and its lock. */
async function remove(path: string, onLeftBehind: FileRules["onLeftBehind"]): Promise<void> {
  for (const name of [path, `${path}.lock`]) {
    await unlink(name).catch(({ code }: NodeJS.ErrnoException) => {
      if (code !== "ENOENT") onLeftBehind(code ?? "unknown");
    });
  }
}

function fault(finding: string, cause?: unknown): JudgeError {
  return new JudgeError("encoder_error", finding, { cause });
}
