// Lines to the end of a file or into a pipe that may be slow, full or gone. What cannot be written costs its lines: neither a
// request waits for it nor the end of the process, which libraries for this make wait for ever.
import { constants, fstatSync, openSync, write, writeSync } from "node:fs";

export interface LineFile {
  write(line: string): void;
  /** Begins to write what is held back. */
  flush(): void;
}

/**
 * Lines wait this long for company, or until they are so many characters: under load a write of its own for each took a
 * twentieth of the throughput.
 */
const gatherMs = 50;
const gatherLength = 4096;
/** What is kept of lines that cannot be written, in characters; later ones are dropped. */
const maxHeldLength = 2 ** 20;
/** After a write that failed. */
const retryMs = 100;

/** @param descriptor open for writing; what is still held back at the process's end is tried once more */
export function createLineFile(descriptor: number): LineFile {
  const target = withoutBlocking(descriptor);
  let held = "";
  /** what a write under way, or the next try, is to bring out */
  let rest: Buffer | null = null;
  let isWriting = false;
  /** the last write failed: the next one waits for its time, however much there is to write */
  let isFailing = false;
  let isTimed = false;

  function writeLater(ms: number): void {
    if (isTimed) return;
    isTimed = true;
    setTimeout(() => {
      isTimed = false;
      writeOut();
    }, ms).unref();
  }

  function writeOut(): void {
    if (isWriting) return;
    if (rest === null) {
      if (held === "") return;
      rest = Buffer.from(held);
      held = "";
    }
    isWriting = true;
    write(target, rest, (error, written) => {
      isWriting = false;
      isFailing = error !== null;
      if (isFailing) return writeLater(retryMs);
      rest = written < rest!.length ? rest!.subarray(written) : null;
      if (rest !== null || held.length >= gatherLength) writeOut();
      else if (held !== "") writeLater(gatherMs);
    });
  }

  process.on("exit", () => {
    try {
      // a write under way is the kernel's
      for (const last of isWriting ? [Buffer.from(held)] : [rest ?? Buffer.alloc(0), Buffer.from(held)]) {
        for (let at = 0; at < last.length; ) at += writeSync(target, last, at);
      }
    } catch {
      // lost: waiting for a reader or for room on the disk would keep the process
    }
  });

  return {
    write(line) {
      if (held.length + line.length > maxHeldLength) return;
      held += line;
      if (held.length >= gatherLength && !isFailing) writeOut();
      else writeLater(gatherMs);
    },
    flush: writeOut,
  };
}

/** A pipe opened anew so that a write into a full one fails instead of waiting for its reader; others share the old opening. */
function withoutBlocking(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return descriptor;
  }
}
