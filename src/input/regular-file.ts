// The one place that opens the files of a server. It follows links and reads regular files only: a pipe would
// keep the server waiting for its other end, and a device may never end.
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
import { type ErrorCode, type ErrorText, JudgeError } from "../errors.js";

export interface WantedFile {
  readonly path: string;
  /** of the file in messages */
  readonly name: string;
  /** of the error */
  readonly code: ErrorCode;
  /** of the error: what to do next */
  readonly remedy: string;
  /** a larger file is refused before it is read; at most 2 GiB if all of it is read at once */
  readonly maxBytes: number;
}

/** with O_NONBLOCK, opening does not wait even if the file became a pipe after it was checked */
const flags = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * The whole file, of the length that it had when it was opened.
 * @throws JudgeError that names the file; `isMissing` recognises that of a missing file
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

/** As `readRegularFile`, for small files that a start must wait for anyway. */
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

/** Whether an error of the functions above says that nothing is at the path, not even a link. */
export function isMissing(error: unknown): boolean {
  const { cause } = error as JudgeError;
  return cause instanceof Error && (cause as NodeJS.ErrnoException).code === "ENOENT";
}

function check(facts: Stats, wanted: WantedFile): void {
  const { name, maxBytes } = wanted;
  if (!facts.isFile())
    throw refusal(wanted, { found: `${name} is ${kindOf(facts)}`, wanted: "a regular file" });
  if (facts.size > maxBytes)
    throw refusal(wanted, { found: `${name} has ${facts.size} bytes`, wanted: `at most ${maxBytes}` });
}

function kindOf(facts: Stats): string {
  if (facts.isDirectory()) return "a folder";
  if (facts.isFIFO()) return "a pipe";
  return facts.isSocket() ? "a socket" : "a device";
}

function unreadable(error: unknown, wanted: WantedFile): JudgeError {
  if (error instanceof JudgeError) return error;
  const { name, path } = wanted;
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOENT") return refusal(wanted, { found: `${name} cannot be read (${code})` }, error);
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
    ? refusal(wanted, { found: `${name} is a link to a file that is missing` })
    : refusal(wanted, { found: `${name} is missing` }, error);
}

function refusal({ code, remedy }: WantedFile, text: ErrorText, cause?: unknown): JudgeError {
  return new JudgeError(code, { ...text, remedy, cause });
}
