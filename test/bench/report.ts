// The benchmark's results as text: tables that read well in a terminal, and one line per target.

import type { Summary } from "../support/statistics.js";
import type { CachedResult } from "./cached.js";
import type { HealthResult } from "./health.js";
import type { LatencyResult, Timed } from "./latency.js";
import type { Memory } from "./memory.js";
import type { ParallelResult } from "./parallel.js";
import type { ThroughputResult } from "./throughput.js";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly threads: number;
  readonly node: string;
  /** processes that wanted a core in the minute before the run */
  readonly loadAverage: number;
}

export interface BenchResult {
  readonly machine: Machine;
  readonly latency: readonly LatencyResult[];
  readonly throughput: readonly ThroughputResult[];
  readonly cached: readonly CachedResult[];
  readonly readyMs: Summary;
  readonly health: readonly HealthResult[];
  readonly parallel: readonly ParallelResult[];
  readonly memory: readonly Memory[];
  readonly verdicts: readonly Verdict[];
}

export interface Verdict {
  readonly target: string;
  readonly met: boolean;
  readonly found: string;
}

export function renderReport(result: BenchResult): string {
  return [
    machineLine(result.machine),
    "One client: a judged request against the bare onnxruntime run on the same ids (p50 in ms; range of the rounds' medians)",
    latencyTable(result.latency),
    "Where a judged request's time goes (p50 in ms; each stage by itself)",
    stageTable(result.latency),
    "Many clients: prompts per second, against bare batches of the best size (median; range of the rounds); by one process of all threads, and by one process for each",
    throughputTable(result.throughput),
    "A prompt that was judged before, against a bare Hono handler with the same bodies (median of the rounds; range)",
    cachedTable(result.cached),
    "/health under load, and a bare HTTP server probed in turn with it (ms)",
    healthTable(result.health),
    "Memory at the end (resident, MB)",
    table(
      ["process", "MB"],
      result.memory.map(({ process, bytes }) => [process, (bytes / 1e6).toFixed(0)]),
    ),
    verdictLines(result.verdicts),
    "",
  ].join("\n\n");
}

export function machineLine({ cpu, cores, threads, node, loadAverage }: Machine): string {
  return `${cpu}, ${cores} cores, ${threads} threads, Node ${node}, load ${loadAverage.toFixed(1)} before the run`;
}

/** One line per target: met or missed, and what was found. */
export function verdictLines(verdicts: readonly Verdict[]): string {
  const width = Math.max(...verdicts.map(({ target }) => target.length));
  return verdicts
    .map(({ target, met, found }) => `${met ? "met   " : "MISSED"}  ${target.padEnd(width)}  ${found}`)
    .join("\n");
}

function latencyTable(rows: readonly LatencyResult[]): string {
  const range = ({ roundMedians }: Timed) => `${ms(roundMedians.min)} to ${ms(roundMedians.max)}`;
  return table(
    ["judge", "mix", "requests", "floor", "range", "judged", "range", "ratio", "budget", "pass"],
    rows.map(({ judge, mix, requests, floorMs, judgedMs, budgetMs }) => [
      judge,
      mix,
      `${requests}`,
      ms(floorMs.p50),
      range(floorMs),
      ms(judgedMs.p50),
      range(judgedMs),
      (judgedMs.p50 / floorMs.p50).toFixed(2),
      ms(budgetMs),
      judgedMs.p50 <= budgetMs ? "yes" : "NO",
    ]),
  );
}

function stageTable(rows: readonly LatencyResult[]): string {
  return table(
    ["judge", "mix", "floor", "prefill", "tokenize", "queue + transport", "head", "in server", "client"],
    rows.map(({ judge, mix, floorMs, judgedMs, stagesMs }) => [
      judge,
      mix,
      ...[floorMs.p50, stagesMs.prefill, stagesMs.tokenize, stagesMs.queue, stagesMs.head].map(ms),
      ...[stagesMs.total, judgedMs.p50].map(ms),
    ]),
  );
}

function throughputTable(rows: readonly ThroughputResult[]): string {
  return table(
    [
      "judge",
      "mix",
      "bare",
      "batch",
      "8 clients",
      "64 clients",
      "64 / bare",
      "range",
      "64, processes",
      "64 / bare",
      "range",
      "evaluate / bare",
      "range",
    ],
    rows.map(({ judge, mix, bare, bestBatch, served, ratio, processes, processesRatio, predictedRatio }) => [
      judge,
      mix,
      `${bare.p50.toFixed(1)}/s`,
      `${bestBatch}`,
      ...[served[8]!, served[64]!].map(({ p50 }) => `${p50.toFixed(1)}/s`),
      ratio.p50.toFixed(2),
      spread(ratio, 2),
      `${processes.p50.toFixed(1)}/s`,
      processesRatio.p50.toFixed(2),
      spread(processesRatio, 2),
      predictedRatio.p50.toFixed(2),
      spread(predictedRatio, 2),
    ]),
  );
}

function cachedTable(rows: readonly CachedResult[]): string {
  return table(
    ["judge", "p50", "range", "bare p50", "8 clients", "bare", "ratio", "range"],
    rows.map(({ judge, cachedMs, bareMs, cachedPerSecond, barePerSecond, ratio }) => [
      judge,
      ms(cachedMs.p50),
      spread(cachedMs, 2),
      ms(bareMs.p50),
      ...[cachedPerSecond, barePerSecond].map(({ p50 }) => `${p50.toFixed(0)}/s`),
      ratio.p50.toFixed(2),
      spread(ratio, 2),
    ]),
  );
}

export function spread({ min, max }: Pick<Summary, "min" | "max">, digits: number): string {
  return `${min.toFixed(digits)} to ${max.toFixed(digits)}`;
}

function healthTable(rows: readonly HealthResult[]): string {
  return table(
    ["judge", "clients", "answers", "probes", "p50", "p99", "max", "bare p50", "bare p99", "bare max"],
    rows.map(({ judge, clients, health, bare, load }) => [
      judge,
      ...[clients, load.answers, health.count].map(String),
      ...[health.p50, health.p99, health.max, bare.p50, bare.p99, bare.max].map(ms),
    ]),
  );
}

/** First column to the left, the others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join(" | ")} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [head, rule, ...rows].map(line).join("\n");
}

export function ms(value: number): string {
  return value.toFixed(value < 100 ? 2 : 1);
}
