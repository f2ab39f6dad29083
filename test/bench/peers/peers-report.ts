// What the rounds of bench:peers come to: medians, ratios round by round, tables and one line per target.
// Pure.

import { median, type Summary, summarize } from "../../support/statistics.js";
import { type Machine, machineLine, ms, table, type Verdict, verdictLines } from "../report.js";
import type { Drive } from "./drive.js";
import { type Comparison, clients, comparisons, type SubjectId, subjects } from "./subjects.js";

/** What one subject did in one round: requests one by one, and by several clients at once. */
export interface Turn {
  readonly alone: Drive;
  readonly together: Drive;
  /** replies with a result: a probability, a vector, a verdict that a router can read */
  readonly results: number;
}

export type Round = Partial<Record<SubjectId, Turn>>;

export interface SubjectResult {
  readonly name: string;
  /** of one client, over all rounds */
  readonly aloneMs: Summary;
  /** one value per round */
  readonly roundMs: Summary;
  readonly requestsPerSecond: Summary;
  readonly requests: number;
  readonly results: number;
}

export interface ComparisonResult {
  readonly own: string;
  readonly peer: string;
  /** the peer's p50 divided by ours, one value per round */
  readonly p50Ratio: Summary;
  /** our requests per second divided by the peer's, one value per round */
  readonly throughputRatio: Summary;
}

export interface PeersResult {
  readonly machine: Machine;
  /** by name: why a peer takes no part */
  readonly leftOut: Readonly<Record<string, string>>;
  readonly subjects: readonly SubjectResult[];
  readonly comparisons: readonly ComparisonResult[];
  readonly verdicts: readonly Verdict[];
}

export function summarizePeers(rounds: readonly Round[]): Omit<PeersResult, "machine" | "leftOut"> {
  const present = (id: SubjectId) => rounds[0]![id] !== undefined;
  const compared = comparisons.filter(({ own, peer }) => present(own) && present(peer));
  const results = compared.map((comparison) => compare(comparison, rounds));
  return {
    subjects: (Object.keys(subjects) as SubjectId[]).filter(present).map((id) => summarizeOne(id, rounds)),
    comparisons: results,
    verdicts: compared.flatMap((comparison, index) => judge(comparison, results[index]!)),
  };
}

function summarizeOne(id: SubjectId, rounds: readonly Round[]): SubjectResult {
  const taken = rounds.map((round) => round[id]!);
  const requests = taken.flatMap(({ alone, together }) => [...alone.replies, ...together.replies]).length;
  return {
    name: subjects[id].name,
    aloneMs: summarize(taken.flatMap(({ alone }) => alone.milliseconds)),
    roundMs: summarize(taken.map(({ alone }) => median(alone.milliseconds))),
    requestsPerSecond: summarize(taken.map(({ together }) => together.requestsPerSecond)),
    requests,
    results: taken.reduce((sum, { results }) => sum + results, 0),
  };
}

function compare({ own, peer }: Comparison, rounds: readonly Round[]): ComparisonResult {
  const p50 = (round: Round, id: SubjectId) => median(round[id]!.alone.milliseconds);
  const throughput = (round: Round, id: SubjectId) => round[id]!.together.requestsPerSecond;
  return {
    own: subjects[own].name,
    peer: subjects[peer].name,
    p50Ratio: summarize(rounds.map((round) => p50(round, peer) / p50(round, own))),
    throughputRatio: summarize(rounds.map((round) => throughput(round, own) / throughput(round, peer))),
  };
}

function judge({ p50, throughput }: Comparison, result: ComparisonResult): Verdict[] {
  const { own, peer, p50Ratio, throughputRatio } = result;
  const verdict = (what: string, wanted: number, ratio: Summary) => ({
    target: `${own}, ${what}: at least ${wanted} × ${peer}`,
    met: ratio.p50 >= wanted,
    found: spread(ratio),
  });
  return [
    ...(p50 === null ? [] : [verdict("p50", p50, p50Ratio)]),
    ...(throughput === null ? [] : [verdict("requests/s", throughput, throughputRatio)]),
  ];
}

export function renderPeers(result: PeersResult): string {
  const leftOut = Object.entries(result.leftOut).map(([name, reason]) => `left out: ${name}: ${reason}`);
  return [
    machineLine(result.machine),
    `One client (ms) and ${clients} clients (requests/s), a new prompt under 150 tokens for each request; range of the rounds`,
    table(
      ["subject", "p50", "range", "requests/s", "range", "results"],
      result.subjects.map(({ name, aloneMs, roundMs, requestsPerSecond, requests, results }) => [
        name,
        ms(aloneMs.p50),
        `${ms(roundMs.min)} to ${ms(roundMs.max)}`,
        requestsPerSecond.p50.toFixed(1),
        `${requestsPerSecond.min.toFixed(1)} to ${requestsPerSecond.max.toFixed(1)}`,
        `${results} of ${requests}`,
      ]),
    ),
    "How many times faster than the peer, and how many times as many requests/s (median and range of the rounds' ratios)",
    table(
      ["judge", "peer", "p50", "requests/s"],
      result.comparisons.map(({ own, peer, p50Ratio, throughputRatio }) => [
        own,
        peer,
        spread(p50Ratio),
        spread(throughputRatio),
      ]),
    ),
    [verdictLines(result.verdicts), ...leftOut].join("\n"),
    "",
  ].join("\n\n");
}

function spread({ p50, min, max }: Summary): string {
  return `${p50.toFixed(1)} (${min.toFixed(1)} to ${max.toFixed(1)})`;
}
