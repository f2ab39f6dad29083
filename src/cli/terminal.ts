// What the commands see of the process: its streams and signals, and the folder of the package.
import { buffer } from "node:stream/consumers";
import { decodeText } from "../input/decode-text.js";

export interface Terminal {
  /** folder of package.json */
  readonly packageRoot: URL;
  readonly version: string;
  readonly errorIsTerminal: boolean;
  /** whether standard error is a terminal that can write a line again, as a progress bar does */
  readonly errorMovesCursor: boolean;
  readonly inputIsTerminal: boolean;
  /** Writes a line to standard output, with control characters escaped. */
  print(text: string): void;
  /** Writes a line to standard error in the same way. Progress goes there. */
  note(text: string): void;
  /** From now on the process goes on when nobody reads its output any more. */
  outliveReaders(): void;
  /** All of standard input. @throws JudgeError `usage` if it is not UTF-8 */
  readInput(): Promise<string>;
  /** The name of the next SIGTERM or SIGINT. To be called once: later signals are ignored. */
  nextSignal(): Promise<string>;
  /** Calls back on every SIGHUP, unless standard error is a terminal: SIGHUP then ends the process. */
  onHangup(callback: () => void): void;
  /** Kills the process after that time if it still runs. */
  endWithin(milliseconds: number): void;
}

/** @param kind the value of TERM; a dumb terminal, such as an editor's, prints what should move its cursor */
export function movesCursor({ isTTY }: { readonly isTTY?: boolean }, kind: string | undefined): boolean {
  return isTTY === true && kind !== "dumb";
}

export function createTerminal(packageRoot: URL, version: string, kind: string | undefined): Terminal {
  return {
    packageRoot,
    version,
    errorIsTerminal: process.stderr.isTTY === true,
    errorMovesCursor: movesCursor(process.stderr, kind),
    inputIsTerminal: process.stdin.isTTY === true,
    print: (line) => {
      process.stdout.write(`${escaped(line)}\n`);
    },
    note: (line) => {
      process.stderr.write(`${escaped(line)}\n`);
    },
    outliveReaders: () => {
      process.stdout.removeAllListeners("error").on("error", () => {});
    },
    readInput: async () => decodeText(await buffer(process.stdin), "standard input", "usage"),
    nextSignal: () =>
      new Promise((resolve) => {
        // the listeners stay, so that a second signal does not cut the end short
        // SIGHUP comes from a terminal that was closed; without a terminal it asks for a reload
        const hangup = process.stderr.isTTY === true ? (["SIGHUP"] as const) : [];
        for (const signal of ["SIGTERM", "SIGINT", ...hangup] as const)
          process.on(signal, () => resolve(signal));
      }),
    onHangup: (callback) => {
      if (process.stderr.isTTY !== true) process.on("SIGHUP", callback);
    },
    // process.exit would wait for a thread that hangs in a system call
    endWithin: (milliseconds) => {
      setTimeout(() => process.kill(process.pid, "SIGKILL"), milliseconds).unref();
    },
  };
}

/** Lines without control characters, which could command a terminal. They keep their meaning in JSON. */
export function escaped(lines: string): string {
  return lines.replace(
    /[^\P{Cc}\n\t]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Text of a file for a terminal. Its control characters, which could forge a line, are replaced. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "\uFFFD");
}
