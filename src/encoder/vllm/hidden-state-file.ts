// Takes the file that a vLLM server names: checks, waits, lends and removes it. Does not read it.
import { constants } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { declaredSize } from "../../checkpoint/safetensors-header.js";
import { type ErrorText, JudgeError } from "../../errors.js";
import { checkedPath, connectorRemedy } from "./hidden-state-path.js";
import { lockOf, maxHeaderBytes } from "./own-files.js";

export interface FileRules {
  /** the only folder whose files are opened, those of its subfolders not */
  readonly root: string;
  /** how long the file may take to become whole */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** told the error code when a file cannot be removed */
  readonly onLeftBehind: (code: string) => void;
}

/** A file that is whole. */
export interface WholeFile {
  readonly size: number;
  /** user id */
  readonly owner: number;
  /** the first bytes, the header of the safetensors format among them */
  readonly start: Uint8Array;
  /** Fills `into` with the bytes from `position` on. */
  read(into: Uint8Array, position: number): Promise<void>;
}

/** safetensors 0.8.0, which vLLM 0.32 wants, writes 0600, whatever umask and group are. */
export const sameUserRemedy =
  "run both as the same user (docker run --user, or runAsUser of both containers): vLLM's files are for their owner alone";
/** Read at once: header and token ids of most prompts, and all of a small file. */
const startBytes = 1 << 16;
/** Between two looks at the file: an eighth of the wait so far, within these bounds. */
const pauseMs = { least: 1, most: 16 };

/**
 * What `use` makes of the file at `path`; the file and its lock are gone afterwards, whatever was found.
 * @param path as the server gave it
 * @throws JudgeError `encoder_error` for a path or a file that breaks a rule, or that is not whole in time;
 *   `signal.reason` when aborted; what `use` throws
 */
export async function takeFile<T>(
  path: string,
  rules: FileRules,
  signal: AbortSignal,
  use: (file: WholeFile) => Promise<T>,
): Promise<T> {
  const real = await checkedPath(path, rules.root);
  let removal: Promise<void> | null = null;
  try {
    return await withWholeFile(real, rules, signal, (file) => {
      // an open file can be read without its name
      removal = remove(real, rules.onLeftBehind);
      return use(file);
    });
  } finally {
    await (removal ?? remove(real, rules.onLeftBehind));
  }
}

async function withWholeFile<T>(
  path: string,
  rules: FileRules,
  signal: AbortSignal,
  use: (file: WholeFile) => Promise<T>,
): Promise<T> {
  const started = performance.now();
  let handle: FileHandle | null = null;
  try {
    for (;;) {
      signal.throwIfAborted();
      handle ??= await openFile(path);
      const file = handle && (await lookAt(handle, rules.maxBytes));
      if (file !== null) return await use(file);
      if (handle !== null && (await handle.stat()).nlink === 0) {
        // another file may have taken its name
        await handle.close();
        handle = null;
      }
      const waitedMs = performance.now() - started;
      if (waitedMs >= rules.timeoutMs) throw late(handle === null, rules.timeoutMs);
      const { least, most } = pauseMs;
      const pause = Math.min(Math.max(waitedMs / 8, least), most);
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  } finally {
    // nobody waits for it: a large file takes a while to free
    handle?.close().catch(() => {});
  }
}

function late(isMissing: boolean, timeoutMs: number): JudgeError {
  return fileFault(
    isMissing
      ? {
          found: `is not there after ${timeoutMs} ms`,
          remedy: "the server writes elsewhere: mount the same folder in its container and here",
        }
      : {
          found: `is not whole after ${timeoutMs} ms`,
          remedy: "its disk may be full, or file_timeout_ms too short",
        },
  );
}

/** null while there is no such file. Neither follows a link nor waits for the other end of a pipe. */
async function openFile(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    if (code === "ELOOP") throw fileFault({ found: "is a symbolic link", remedy: connectorRemedy });
    const remedy = code === "EACCES" || code === "EPERM" ? sameUserRemedy : null;
    throw fileFault({ found: `cannot be opened (${code})`, remedy }, error);
  }
}

/** The file, once its size is the one that its header gives; null until then. */
async function lookAt(handle: FileHandle, maxBytes: number): Promise<WholeFile | null> {
  const facts = await handle.stat();
  if (!facts.isFile()) throw fileFault({ found: "is not a regular file", remedy: connectorRemedy });
  const { size } = facts;
  const tooLarge = (bytes: number) =>
    fileFault({
      found: `has ${bytes} bytes`,
      wanted: `at most ${maxBytes}`,
      remedy: "set captured_layers to the server's eagle_aux_hidden_state_layer_ids",
    });
  if (size > maxBytes) throw tooLarge(size);
  const start = new Uint8Array(Math.min(size, startBytes));
  if (!(await fill(handle, start, 0))) return null;
  let declared: number | null;
  try {
    declared = declaredSize(start, maxHeaderBytes);
  } catch (cause) {
    throw fileFault({ found: "is not a safetensors file", remedy: connectorRemedy }, cause);
  }
  if (declared === null) return null;
  if (declared > maxBytes) throw tooLarge(declared);
  if (size > declared) {
    throw fileFault({ found: "is longer than its header says", remedy: connectorRemedy });
  }
  if (size < declared) return null;
  return {
    size,
    owner: facts.uid,
    start,
    async read(into, position) {
      const end = position + into.byteLength;
      if (end <= start.byteLength) into.set(start.subarray(position, end));
      else if (!(await fill(handle, into, position))) {
        throw fileFault({
          found: "was cut while it was read",
          remedy: "let no other program write into hidden_states_root",
        });
      }
    },
  };
}

/** Fills `into` with the bytes from `position` on; false where there are too few. */
async function fill(handle: FileHandle, into: Uint8Array, position: number): Promise<boolean> {
  let offset = 0;
  while (offset < into.byteLength) {
    const { bytesRead } = await handle.read(into, offset, into.byteLength - offset, position + offset);
    if (bytesRead === 0) return false;
    offset += bytesRead;
  }
  return true;
}

/** Removes the file, or the link or pipe in its place, and its lock. */
async function remove(path: string, onLeftBehind: FileRules["onLeftBehind"]): Promise<void> {
  const removals = [path, lockOf(path)].map((name) =>
    unlink(name).catch(({ code }: NodeJS.ErrnoException) => {
      if (code !== "ENOENT") onLeftBehind(code ?? "unknown");
    }),
  );
  await Promise.all(removals);
}

/** `found` of what the text says of the file. */
function fileFault(text: ErrorText, cause?: unknown): JudgeError {
  const found = `the vLLM server's hidden-state file ${text.found}`;
  return new JudgeError("encoder_error", { ...text, found, cause });
}
