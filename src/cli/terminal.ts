// What the commands see of the process: streams, signals, the package's folder.
import { buffer } from "node:stream/consumers";
import { decodeText } from "../input/decode-text.js";

export interface Terminal {
  /** folder of package.json */
  readonly packageRoot: URL;
  readonly version: string;
  readonly errorIsTerminal: boolean;
  /** whether standard error is a terminal on which a line can be written anew, as a progress bar does */
  readonly errorMovesCursor: boolean;
  readonly inputIsTerminal: boolean;
  /** writes to standard output, control characters escaped, with a line feed at the end */
  print(text: string): void;
  /** writes to standard error in the same way, where progress belongs */
  note(text: string): void;
  /** From now on the process lives on when those who read its output have left. */
  outliveReaders(): void;
  /**
   * All of standard input.
   *
   * @throws JudgeError `usage` for what is no UTF-8
   */
  readInput(): Promise<string>;
  /** the name of the next SIGTERM or SIGINT; called once, since later ones are then ignored */
  nextSignal(): Promise<string>;
  /** calls back on every SIGHUP, unless standard error is a terminal: its end is then the end */
  onHangup(callback: () => void): void;
  /** The process ends by then, whatever still keeps it. */
  endWithin(milliseconds: number): void;
}

/**
 * @param kind of the terminal, as TERM has it: a dumb one, such as an editor's, shows what should move its
 * cursor
 */
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
        // the listeners stay: a second signal must not cut the end short
        // a terminal that is closed sends SIGHUP; without one it asks for a reload
        const hangup = process.stderr.isTTY === true ? (["SIGHUP"] as const) : [];
        for (const signal of ["SIGTERM", "SIGINT", ...hangup] as const)
          process.on(signal, () => resolve(signal));
      }),
    onHangup: (callback) => {
      if (process.stderr.isTTY !== true) process.on("SIGHUP", callback);
    },
    // process.exit would wait for a thread that hangs in a call to the kernel
    endWithin: (milliseconds) => {
      setTimeout(() => process.kill(process.pid, "SIGKILL"), milliseconds).unref();
    },
  };
}

/** Lines without control characters, which could command a terminal. JSON keeps its meaning. */
export function escaped(lines: string): string {
  return lines.replace(
    /[^\P{Cc}\n\t]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Text of a file for a terminal, its control characters replaced. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "\uFFFD");
}
