// Writes lines to a file or a pipe that may be slow, full or gone. Lines that cannot be written are lost. No
// request waits for them, nor does the end of the process: libraries for this would let it wait for ever.
import { constants, fstatSync, openSync, write, writeSync } from "node:fs";

/** Where lines go. */
export interface LineTarget {
  write(line: string): void;
  /** Begins to write the lines that are held back. */
  flush?(): void;
}

/** Lines are gathered for so long, or up to so many characters: one write for each would cost throughput. */
const gatherMs = 50;
const gatherLength = 4096;
/** Up to so many characters are kept while they cannot be written. Later lines are dropped. */
const maxHeldLength = 2 ** 20;
/** The pause after a write that failed. */
const retryMs = 100;

/** @param target a descriptor that does not block; at the end of the process, one more try is made */
export function createLineFile(target: number): LineTarget {
  let held = "";
  /** the bytes that are being written, or that the next try is to write */
  let rest: Buffer | null = null;
  let isWriting = false;
  /** whether the last write failed: the next one waits for `retryMs`, however much there is to write */
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
      // the bytes of a write under way are already with the kernel
      for (const last of isWriting ? [Buffer.from(held)] : [rest ?? Buffer.alloc(0), Buffer.from(held)]) {
        for (let at = 0; at < last.length; ) at += writeSync(target, last, at);
      }
    } catch {
      // to wait for a reader, or for room on the disk, would keep the process alive
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

/**
 * A descriptor that does not block. A pipe is opened once more: a write into a full pipe then fails instead
 * of waiting for its reader, and other processes that share the first descriptor do not notice.
 */
export function withoutBlocking(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return descriptor;
  }
}
