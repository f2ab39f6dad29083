// The log: JSON lines, or readable ones on a terminal. It writes only the fields named here, so that nothing
// that a user typed gets in.
import { pino } from "pino";
import pretty from "pino-pretty";
import { harmless } from "./harmless.js";
import { createLineFile, type LineTarget, withoutBlocking } from "./line-file.js";
import type { LogLevel } from "./log-level.js";
import type { JudgedSample } from "./metrics.js";

/** What a client spoke in place of HTTP/1. */
export type Protocol = "tls" | "http2" | "proxy";

/** What the log says of a judgement. */
export interface JudgedEntry extends JudgedSample {
  readonly requestId: string;
  readonly totalMs: number;
}

export interface Log {
  judged(entry: JudgedEntry): void;
  /** A request ended in an error of this code; `fault` is the class of an unexpected exception. */
  refused(entry: {
    requestId: string;
    code: string;
    status: number;
    fault: string | null;
    protocol: Protocol | null;
  }): void;
  /** A judge abstained because of a fault; `reason` says what was found. */
  fault(entry: { judge: string; code: string; reason: string; fault: string | null }): void;
  /** A judge gives no answers although its encoder runs. */
  judgeSilent(entry: { judge: string; code: string; reason: string }): void;
  judgeAnswers(entry: { judge: string }): void;
  /** The judge works, but something about it should be known. */
  judgeWarning(entry: { judge: string; finding: string }): void;
  /** `process`: its number; null if there is only one */
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
  /** As before, for another reason. */
  encoderStillDown(entry: { encoder: string; reason: string; retryMs: number }): void;
  /** The judges on an encoder wait for it: it is started until it is there. */
  encoderAwaited(entry: { encoder: string; reason: string }): void;
  /** One of several servers behind an encoder is asked, or is asked no more. */
  serverUp(entry: { encoder: string; server: string }): void;
  serverDown(entry: { encoder: string; server: string; reason: string }): void;
  /** The encoder works, but something about it should be changed. */
  encoderWarning(entry: { encoder: string; finding: string }): void;
  /** Hidden-state files that nobody fetched were removed; `names`: some of them. */
  swept(entry: { encoder: string; files: number; bytes: number; names: readonly string[] }): void;
  judgeReady(entry: {
    judge: string;
    checkpoint: string;
    encoder: string;
    selftestPrompts: number;
    readyMs: number;
  }): void;
  listening(entry: { pid: number; host: string; port: number }): void;
  /** The address is public and no key is configured. */
  open(entry: { host: string }): void;
  /** The server closed so many connections since the last such line. */
  connectionsClosed(entry: { idle: number; unread: number }): void;
  /** The process may open fewer files than max_connections needs. */
  connectionsLowered(entry: { maxConnections: number }): void;
  /** Every web page may use the server. */
  openToPages(): void;
  reloaded(entry: { judges: Readonly<Record<string, string>> }): void;
  /** Settings have changed that only a new start takes. */
  settingsIgnored(entry: { settings: readonly string[] }): void;
  reloadFailed(entry: { reason: string }): void;
  closing(entry: { signal: string }): void;
}

/** Standard error: JSON lines, or readable ones if it is a terminal. */
export function standardErrorTarget(isTerminal: boolean): LineTarget {
  if (isTerminal) return pretty({ destination: 2, sync: true, ignore: "pid,hostname" });
  return createLineFile(withoutBlocking(2));
}

export function createLog(target: LineTarget, level: LogLevel): Log {
  const log = pino({ base: null, level }, target);
  /** For lines that no request causes: they are rare, and their readers want them at once. */
  const now = (level: "info" | "warn" | "error", entry: object, message: string) => {
    log[level](entry, message);
    target.flush?.();
  };
  const told: Log = {
    judged: (entry) => log.info(snake(entry), "judged"),
    refused: (entry) => log[entry.status >= 500 ? "error" : "info"](snake(entry), "refused"),
    fault: (entry) => log.warn(snake(entry), "fault"),
    judgeSilent: (entry) => now("error", snake(entry), "judge not ready: no answers come out"),
    judgeWarning: (entry) => now("warn", entry, "judge warning"),
    judgeAnswers: (entry) => now("info", snake(entry), "judge ready: answers come out again"),
    encoderUp: (entry) => now("info", snake(entry), "encoder up"),
    encoderDown: (entry) => now("error", snake(entry), "encoder down"),
    encoderStillDown: (entry) => now("error", snake(entry), "encoder still down"),
    encoderAwaited: (entry) => now("error", snake(entry), "encoder awaited: its judges are not ready"),
    serverUp: (entry) => now("info", entry, "vLLM server up"),
    serverDown: (entry) => now("error", entry, "vLLM server down"),
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
    settingsIgnored: (entry) => now("warn", entry, "changed settings that only a new start takes"),
    reloadFailed: (entry) => now("error", entry, "reload failed; the judges in service stay"),
    closing: (entry) => now("info", snake(entry), "closing"),
  };
  return harmless({ ...told });
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** The entry as it is written: names in snake_case, no null fields, numbers rounded to six digits. */
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
