// The benchmark's results as text: tables that read well in a terminal, and one line per target.
import type { HealthResult } from "./health.js";
import type { LatencyResult, Timed } from "./latency.js";
import type { ParallelResult } from "./parallel.js";
import type { Summary } from "./statistics.js";

export const targets = { readyMs: 3000, healthMs: 20, pSolveDifference: 1e-5 } as const;

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
  readonly readyMs: Summary;
  readonly health: readonly HealthResult[];
  readonly parallel: readonly ParallelResult[];
  readonly verdicts: readonly Verdict[];
}

export interface Verdict {
  readonly target: string;
  readonly met: boolean;
  readonly found: string;
}

/** One verdict per target. */
export function judgeTargets(result: Omit<BenchResult, "verdicts">): Verdict[] {
  const { latency, readyMs, health, parallel } = result;
  return [
    ...latency.map(({ judge, tokens, floorMs, judgedMs, budgetMs }) => ({
      target: `${judge}, ${tokens} tokens: at most 1.25 × floor + 2 ms`,
      met: judgedMs.p50 <= budgetMs,
      found: `${ms(judgedMs.p50)} of ${ms(budgetMs)} ms (floor ${ms(floorMs.p50)})`,
    })),
    {
      target: `process start to ready: at most ${targets.readyMs} ms`,
      met: readyMs.p50 <= targets.readyMs,
      found: `${readyMs.p50.toFixed(0)} ms, ${readyMs.min.toFixed(0)} to ${readyMs.max.toFixed(0)}`,
    },
    ...health.map(({ judge, clients, health: probes, bare }) => ({
      target: `/health while ${clients} clients ask ${judge}: at most ${targets.healthMs} ms`,
      met: probes.max <= targets.healthMs,
      found: `max ${ms(probes.max)} ms, p99 ${ms(probes.p99)} (bare server: ${ms(bare.max)}, ${ms(bare.p99)})`,
    })),
    ...parallel.map(({ judge, clients, largestDifference }) => ({
      target: `${judge}, ${clients} clients: p_solve of a single one within ${targets.pSolveDifference}`,
      met: largestDifference <= targets.pSolveDifference,
      found: `largest difference ${largestDifference.toExponential(1)}`,
    })),
  ];
}

export function renderReport(result: BenchResult): string {
  return [
    machineLine(result.machine),
    "A judged request against the bare onnxruntime run on the same ids (p50 in ms; range of the rounds' medians)",
    latencyTable(result.latency),
    "Where a judged request's time goes (p50 in ms; each stage by itself)",
    stageTable(result.latency),
    "/health under load, and a bare HTTP server probed in turn with it (ms)",
    healthTable(result.health),
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
    ["judge", "tokens", "requests", "floor", "range", "judged", "range", "ratio", "budget", "pass"],
    rows.map(({ judge, tokens, requests, floorMs, judgedMs, budgetMs }) => [
      judge,
      `${tokens}`,
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
    ["judge", "tokens", "floor", "prefill", "tokenize", "queue + transport", "head", "in server", "client"],
    rows.map(({ judge, tokens, floorMs, judgedMs, stagesMs }) => [
      judge,
      `${tokens}`,
      ...[floorMs.p50, stagesMs.prefill, stagesMs.tokenize, stagesMs.queue, stagesMs.head].map(ms),
      ...[stagesMs.total, judgedMs.p50].map(ms),
    ]),
  );
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
