// The one place that opens the files a server is made of. Only regular files are read, links followed: a pipe would keep
// the server waiting for its other end, and a device may never end.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { type ErrorCode, JudgeError } from "../errors.js";

export interface WantedFile {
  readonly path: string;
  /** how a message calls it */
  readonly name: string;
  /** of the error */
  readonly code: ErrorCode;
  /** what whoever reads the message is to do */
  readonly remedy: string;
  /** a larger one is refused before it is read; at most 2 GiB where all of it is read at once */
  readonly maxBytes: number;
}

/** should the file turn into a pipe after the look at it, opening it does not wait */
const flags = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * All of a file, as long as it was when it was opened.
 *
 * @throws JudgeError naming the file: `isMissing` tells one that is not there
 */
export async function readRegularFile(wanted: WantedFile): Promise<Buffer> {
  const handle = await openRegularFile(wanted);
  try {
    const bytes = Buffer.allocUnsafeSlow((await handle.stat()).size);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } catch (error) {
    throw unreadable(error, wanted);
  } finally {
    await handle.close();
  }
}

/** As `readRegularFile`, for the small files that a start waits for anyway. */
export function readRegularFileSync(wanted: WantedFile): Buffer {
  let descriptor: number | null = null;
  try {
    check(statSync(wanted.path), wanted);
    descriptor = openSync(wanted.path, flags);
    const facts = fstatSync(descriptor);
    check(facts, wanted);
    const bytes = Buffer.allocUnsafeSlow(facts.size);
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(descriptor, bytes, length, bytes.length - length, length);
      if (read === 0) break;
      length += read;
    }
    return bytes.subarray(0, length);
  } catch (error) {
    throw unreadable(error, wanted);
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/**
 * The file, open for reading.
 *
 * @throws as `readRegularFile`
 */
export async function openRegularFile(wanted: WantedFile): Promise<FileHandle> {
  let handle: FileHandle | null = null;
  try {
    check(await stat(wanted.path), wanted);
    handle = await open(wanted.path, flags);
    check(await handle.stat(), wanted);
    return handle;
  } catch (error) {
    await handle?.close();
    throw unreadable(error, wanted);
  }
}

/** Whether an error of the functions above says that there is nothing at the path, not even a link. */
export function isMissing(error: unknown): boolean {
  const { cause } = error as JudgeError;
  return cause instanceof Error && (cause as NodeJS.ErrnoException).code === "ENOENT";
}

function check(facts: Stats, wanted: WantedFile): void {
  if (!facts.isFile()) throw refusal(`is ${kindOf(facts)}, wanted a regular file`, wanted);
  if (facts.size > wanted.maxBytes)
    throw refusal(`has ${facts.size} bytes, wanted at most ${wanted.maxBytes}`, wanted);
}

function kindOf(facts: Stats): string {
  if (facts.isDirectory()) return "a folder";
  if (facts.isFIFO()) return "a pipe";
  return facts.isSocket() ? "a socket" : "a device";
}

function unreadable(error: unknown, wanted: WantedFile): JudgeError {
  if (error instanceof JudgeError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOENT") return refusal(`cannot be read (${code})`, wanted, error);
  const isLink = lstatSync(wanted.path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink
    ? refusal("is a link to a file that is missing", wanted)
    : refusal("is missing", wanted, error);
}

function refusal(finding: string, { code, name, remedy }: WantedFile, cause?: unknown): JudgeError {
  return new JudgeError(code, { found: `${name} ${finding}`, remedy: remedy }, { cause });
}
