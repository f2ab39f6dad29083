// The server as users start it, in a process of its own, with the time from its start until it is ready.
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { endChild } from "./child.js";
import { createClient } from "./client.js";

const pollMs = 10;
const giveUpMs = 60_000;

export interface RunningServer {
  readonly port: number;
  readonly pid: number;
  /** from spawn to the first 200 of /ready, polled every 10 ms */
  readonly readyMs: number;
  close(): Promise<void>;
}

export interface ServerSettings {
  readonly threads: number;
  /** of each encoder */
  readonly processes: number;
  readonly deadlineMs: number;
  /**
   * the server's log goes to a file, so that reading it costs the benchmark's process nothing while it
   * measures
   */
  readonly logFile: string;
  /** absent: the embedded judges */
  readonly configFile?: string;
}

/** @throws Error with the log when the server ends or is not ready after a minute */
export async function startServer(settings: ServerSettings): Promise<RunningServer> {
  const { threads, processes, deadlineMs, logFile, configFile } = settings;
  const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const numbers = { "--threads": threads, "--processes": processes, "--deadline-ms": deadlineMs };
  const flags = ["--port", "0", ...Object.entries(numbers).flatMap(([flag, value]) => [flag, `${value}`])];
  if (configFile !== undefined) flags.push("--config", configFile);
  const log = openSync(logFile, "w");
  const started = performance.now();
  const child = spawn(process.execPath, [main, "serve", ...flags], { stdio: ["ignore", "ignore", log] });
  closeSync(log);
  const close = () => endChild(child, "SIGTERM");
  try {
    for (let port: number | undefined; ; await sleep(pollMs)) {
      if (child.exitCode !== null || performance.now() - started > giveUpMs) {
        throw new Error(`the server did not start:\n${readFileSync(logFile, "utf8")}`);
      }
      port ??= listeningPort(logFile);
      if (port === undefined || !(await isReady(port))) continue;
      return { port, pid: child.pid!, readyMs: performance.now() - started, close };
    }
  } catch (error) {
    await close();
    throw error;
  }
}

function listeningPort(logFile: string): number | undefined {
  for (const line of readFileSync(logFile, "utf8").split("\n").slice(0, -1)) {
    const entry = JSON.parse(line) as { msg?: string; port?: number };
    if (entry.msg === "listening") return entry.port;
  }
  return undefined;
}

async function isReady(port: number): Promise<boolean> {
  const client = createClient(port, 1);
  try {
    return (await client.get("/ready")).status === 200;
  } finally {
    client.close();
  }
}
