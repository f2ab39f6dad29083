// Takes the file that a vLLM server names: checks the path before it opens anything, waits until the file is whole, lends
// it for reading and removes it with its lock. Does not know what is in it.
import { constants } from "node:fs";
import { type FileHandle, open, realpath, unlink } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { declaredSize } from "../../checkpoint/safetensors-header.js";
import { JudgeError } from "../../errors.js";
import { isOwnName, lockOf, maxHeaderBytes } from "./own-files.js";

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

/** Read at once: header and token ids of most prompts, and all of a small file. */
const startBytes = 1 << 16;
/** Between two looks at the file: an eighth of the wait so far, within these bounds. */
const pauseMs = { least: 1, most: 16 };
/** Where what was left is not what vLLM leaves. */
export const connectorRemedy = "start the server with the ExampleHiddenStatesConnector";

/**
 * What `use` makes of the file at `path`; the file and its lock are gone afterwards, whatever was found.
 *
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

/** `path` with its folder resolved; nothing is opened. What breaks a rule here is not removed either: it may be anybody's. */
async function checkedPath(path: string, root: string): Promise<string> {
  const remedy = "set it to the server's shared_storage_path";
  const outside = `the vLLM server named a file outside hidden_states_root; ${remedy}`;
  if (!isAbsolute(path) || path.includes("\0")) throw fault(outside);
  if (!isOwnName(basename(path))) {
    throw fault(`the vLLM server named a file that is not named cmpl-….safetensors; ${connectorRemedy}`);
  }
  let folder: string;
  let allowed: string;
  try {
    [folder, allowed] = await Promise.all([realpath(dirname(path)), realpath(root)]);
  } catch (cause) {
    throw fault(outside, cause);
  }
  if (folder === allowed) return join(folder, basename(path));
  const isBelow = folder.startsWith(allowed.endsWith(sep) ? allowed : `${allowed}${sep}`);
  if (!isBelow) throw fault(outside);
  throw fault(`the vLLM server named a file in a folder below hidden_states_root; ${remedy}`);
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
      if (waitedMs >= rules.timeoutMs) {
        const state =
          handle === null
            ? ["is not there", "the server writes elsewhere: mount the same folder in its container and here"]
            : ["is not whole", "its disk may be full, or file_timeout_ms too short"];
        throw fault(
          `the vLLM server's hidden-state file ${state[0]} after ${rules.timeoutMs} ms; ${state[1]}`,
        );
      }
      const { least, most } = pauseMs;
      const pause = Math.min(Math.max(waitedMs / 8, least), most);
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  } finally {
    // nobody waits for it: a large file takes a while to free
    handle?.close().catch(() => {});
  }
}

/** null while there is no such file. Neither follows a link nor waits for the other end of a pipe. */
async function openFile(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    if (code === "ELOOP")
      throw fault(`the vLLM server's hidden-state file is a symbolic link; ${connectorRemedy}`);
    const remedy =
      code === "EACCES" || code === "EPERM"
        ? "; run both as the same user, or give the server a umask and the folder a group that let this one read"
        : "";
    throw fault(`the vLLM server's hidden-state file cannot be opened (${code})${remedy}`, error);
  }
}

/** The file, once its size is the one that its header gives; null until then. */
async function lookAt(handle: FileHandle, maxBytes: number): Promise<WholeFile | null> {
  const facts = await handle.stat();
  if (!facts.isFile())
    throw fault(`the vLLM server's hidden-state file is not a regular file; ${connectorRemedy}`);
  const { size } = facts;
  const tooLarge = (bytes: number) =>
    fault(
      `the vLLM server's hidden-state file has ${bytes} bytes, wanted at most ${maxBytes}; set captured_layers to the server's eagle_aux_hidden_state_layer_ids`,
    );
  if (size > maxBytes) throw tooLarge(size);
  const start = new Uint8Array(Math.min(size, startBytes));
  if (!(await fill(handle, start, 0))) return null;
  let declared: number | null;
  try {
    declared = declaredSize(start, maxHeaderBytes);
  } catch (cause) {
    throw fault(`the vLLM server's hidden-state file is not a safetensors file; ${connectorRemedy}`, cause);
  }
  if (declared === null) return null;
  if (declared > maxBytes) throw tooLarge(declared);
  if (size > declared) {
    throw fault(`the vLLM server's hidden-state file is longer than its header says; ${connectorRemedy}`);
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
        throw fault(
          "the vLLM server's hidden-state file was cut while it was read; let no other program write into hidden_states_root",
        );
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

function fault(finding: string, cause?: unknown): JudgeError {
  return new JudgeError("encoder_error", { found: finding }, { cause });
}
