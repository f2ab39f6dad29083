// The log: JSON lines, pretty on a terminal. Only the fields named here are ever written, so that nothing a user typed
// can get in.
import { pino } from "pino";
import pretty from "pino-pretty";
import { harmless } from "./harmless.js";
import { createLineFile } from "./line-file.js";
import type { LogLevel } from "./log-level.js";
import type { JudgedSample } from "./metrics.js";

/** What a client spoke instead of HTTP/1. */
export type Protocol = "tls" | "http2" | "proxy";

/** What a judgement leaves in the log. */
export interface JudgedEntry extends JudgedSample {
  readonly requestId: string;
  readonly totalMs: number;
}

export interface Log {
  judged(entry: JudgedEntry): void;
  /** a request that ended in an error of code `code`; `fault` is the class of an unexpected exception */
  refused(entry: {
    requestId: string;
    code: string;
    status: number;
    fault: string | null;
    protocol: Protocol | null;
  }): void;
  /** a fault behind an abstention; `reason` is our own finding */
  fault(entry: { judge: string; code: string; reason: string; fault: string | null }): void;
  /** a judge whose encoder is there, and gives no answers */
  judgeSilent(entry: { judge: string; code: string; reason: string }): void;
  judgeAnswers(entry: { judge: string }): void;
  /** `process`: its number, where there are several */
  encoderUp(entry: {
    encoder: string;
    process: number | null;
    device: string;
    threads: number;
    loadMs: number;
    restarts: number;
  }): void;
  encoderDown(entry: {
    encoder: string;
    process: number | null;
    exitCode: number | null;
    signal: string | null;
    reason: string | null;
    retryMs: number;
  }): void;
  /** an encoder that works, on ground that should not stay as it is */
  encoderWarning(entry: { encoder: string; finding: string }): void;
  /** hidden-state files that nobody came for were removed; `names`: of some of them */
  swept(entry: { encoder: string; files: number; bytes: number; names: readonly string[] }): void;
  judgeReady(entry: {
    judge: string;
    checkpoint: string;
    encoder: string;
    selftestPrompts: number;
    readyMs: number;
  }): void;
  listening(entry: { pid: number; host: string; port: number }): void;
  /** a public address without keys */
  open(entry: { host: string }): void;
  /** connections that were closed before their clients did, since the last such line */
  connectionsClosed(entry: { idle: number; unread: number }): void;
  /** fewer files may be open than max_connections wants */
  connectionsLowered(entry: { maxConnections: number }): void;
  /** every web page may use the server */
  openToPages(): void;
  reloaded(entry: { judges: Readonly<Record<string, string>> }): void;
  reloadFailed(entry: { reason: string }): void;
  closing(entry: { signal: string }): void;
}

/** Where the log goes. */
export interface LogTarget {
  write(line: string): void;
  /** Writes out what `write` holds back. */
  flush?(): void;
}

/** JSON lines to standard error, pretty when that is a terminal. */
export function standardErrorTarget(isTerminal: boolean): LogTarget {
  return isTerminal ? pretty({ destination: 2, sync: true, ignore: "pid,hostname" }) : createLineFile(2);
}

export function createLog(target: LogTarget, level: LogLevel): Log {
  const log = pino({ base: null, level }, target);
  /** What is not of a request is rare, and looked for at once. */
  const now = (level: "info" | "warn" | "error", entry: object, message: string) => {
    log[level](entry, message);
    target.flush?.();
  };
  const told: Log = {
    judged: (entry) => log.info(snake(entry), "judged"),
    refused: (entry) => log[entry.status >= 500 ? "error" : "info"](snake(entry), "refused"),
    fault: (entry) => log.warn(snake(entry), "fault"),
    judgeSilent: (entry) => now("error", snake(entry), "judge not ready: no answers come out"),
    judgeAnswers: (entry) => now("info", snake(entry), "judge ready: answers come out again"),
    encoderUp: (entry) => now("info", snake(entry), "encoder up"),
    encoderDown: (entry) => now("error", snake(entry), "encoder down"),
    encoderWarning: (entry) => now("warn", snake(entry), "encoder warning"),
    swept: (entry) => now("warn", entry, "stale hidden-state files removed"),
    judgeReady: (entry) => now("info", snake(entry), "judge ready"),
    listening: (entry) => now("info", snake(entry), "listening"),
    open: (entry) =>
      now("warn", snake(entry), "anyone who reaches this address may ask: no key is configured"),
    connectionsClosed: (entry) =>
      now("warn", entry, "connections closed: places ran out (idle), or an answer was not taken (unread)"),
    connectionsLowered: (entry) =>
      now("warn", snake(entry), "the limit on open files is below max_connections; raise it (ulimit -n)"),
    openToPages: () => now("warn", {}, 'any web page may use this server: cors_origins holds "*"'),
    reloaded: (entry) => now("info", entry, "reloaded"),
    reloadFailed: (entry) => now("error", entry, "reload failed; the judges in service stay"),
    closing: (entry) => now("info", snake(entry), "closing"),
  };
  return harmless({ ...told });
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** Field names as they are written; null fields are left out, numbers rounded to microseconds and six digits. */
function snake(entry: object): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(entry)) {
    if (value === null) continue;
    const key = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (typeof value === "object") fields[key] = snake(value);
    else fields[key] = typeof value === "number" ? rounded(value) : value;
  }
  return fields;
}
