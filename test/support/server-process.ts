// A real `serve` process: its address, what it printed and logged, its encoder processes, and how it ended.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));

export interface ServeOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** the start is over when standard error or output matches; absent: when the server is ready */
  readonly until?: RegExp;
  /** shell commands that run before the server replaces the shell */
  readonly shell?: string;
}

export interface ServeProcess {
  readonly url: string;
  readonly pid: number;
  readonly alive: boolean;
  /** standard output so far */
  readonly output: string;
  /** standard error so far */
  readonly errors: string;
  /** process ids of its encoders (Linux) */
  encoderPids(): number[];
  signal(name: NodeJS.Signals): void;
  /** How it ended. The test fails if it has not ended within `timeoutMs`. */
  ended(timeoutMs: number): Promise<{ code: number | null; signal: string | null }>;
  kill(): Promise<void>;
}

/** Starts `serve` on a free port with this configuration. */
export async function startServe(toml: string, options: ServeOptions = {}): Promise<ServeProcess> {
  const folder = mkdtempSync(join(tmpdir(), "judge-serve-"));
  const config = join(folder, "serve.toml");
  writeFileSync(config, toml);
  const command = [
    process.execPath,
    main,
    "serve",
    "--port",
    "0",
    "--config",
    config,
    ...(options.args ?? []),
  ];
  const [file, ...args] =
    options.shell === undefined
      ? command
      : ["/bin/bash", "-c", `${options.shell}; exec "$@"`, "bash", ...command];
  const child = spawn(file!, args, {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const closed = once(child, "close").finally(() => rmSync(folder, { recursive: true }));
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const wanted = options.until ?? /ready on http/;
  const end = performance.now() + 30_000;
  while (isAlive() && !wanted.test(output) && !wanted.test(errors) && performance.now() < end) await sleep(5);

  return {
    get url() {
      const port =
        /"port":(\d+),"msg":"listening"/.exec(errors)?.[1] ?? /ready on \S+:(\d+)/.exec(output)?.[1];
      return `http://127.0.0.1:${port}`;
    },
    pid: child.pid!,
    get alive() {
      return isAlive();
    },
    get output() {
      return output;
    },
    get errors() {
      return errors;
    },
    encoderPids: () => childrenOf(child.pid!),
    signal: (name) => void child.kill(name),
    async ended(timeoutMs) {
      const timeout = sleep(timeoutMs, "late" as const, { ref: false });
      const outcome = await Promise.race([closed, timeout]);
      assert.notEqual(outcome, "late", `it has not ended within ${timeoutMs} ms`);
      return { code: child.exitCode, signal: child.signalCode };
    },
    async kill() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map(Number);
}

/** Whether a process runs (Linux). A zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
