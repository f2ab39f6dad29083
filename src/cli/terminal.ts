// What the commands see of the process: streams, signals, the package's folder.
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

export interface Terminal {
  /** folder of package.json */
  readonly packageRoot: URL;
  readonly version: string;
  readonly errorIsTerminal: boolean;
  readonly inputIsTerminal: boolean;
  /** writes to standard output, with a line feed at the end */
  print(text: string): void;
  /** all of standard input */
  readInput(): Promise<string>;
  /** the name of the next SIGTERM or SIGINT; called once, since later ones are then ignored */
  nextSignal(): Promise<string>;
  /** calls back on every SIGHUP */
  onHangup(callback: () => void): void;
  sleep(milliseconds: number): Promise<void>;
}

export function createTerminal(packageRoot: URL, version: string): Terminal {
  return {
    packageRoot,
    version,
    errorIsTerminal: process.stderr.isTTY === true,
    inputIsTerminal: process.stdin.isTTY === true,
    print: (line) => {
      process.stdout.write(`${line}\n`);
    },
    readInput: () => text(process.stdin),
    nextSignal: () =>
      new Promise((resolve) => {
        // the listeners stay: a second signal must not cut the end short
        for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve(signal));
      }),
    onHangup: (callback) => {
      process.on("SIGHUP", callback);
    },
    sleep: (milliseconds) => sleep(milliseconds),
  };
}
