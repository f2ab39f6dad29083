// The benchmark's targets: ratios within one run, and what was found of each. Pure.
import type { BenchResult, Verdict } from "./report.js";
import { ms, spread } from "./report.js";

export const pSolveDifference = 1e-5;
const readyMs = 2000;
const healthMs = 20;
const loopDelayMs = 20;
const cachedMs = 0.5;
/** of eight clients */
const leastCachedPerSecond = 5000;
const predictedRatio = 0.9;

/** What 64 clients get over the best bare batch: more where the encoder remembers the template. */
function throughputRatio(judge: string, mix: string): number {
  return judge === "prefill-judge" && mix === "chat" ? 1.1 : 0.95;
}

/** One verdict per target. */
export function judgeTargets(result: Omit<BenchResult, "verdicts">): Verdict[] {
  const { latency, throughput, cached, health, parallel } = result;
  return [
    ...latency.map(({ judge, mix, floorMs, judgedMs, budgetMs }) => ({
      target: `${judge}, ${mix}: p50 of one client at most ${judge === "prefill-judge" && mix === "chat" ? "0.80 × floor + 1" : "1.05 × floor + 1.5"} ms`,
      met: judgedMs.p50 <= budgetMs,
      found: `${ms(judgedMs.p50)} of ${ms(budgetMs)} ms (floor ${ms(floorMs.p50)})`,
    })),
    ...throughput.flatMap(
      ({ judge, mix, ratio, processesRatio, predictedRatio: predicted, loopDelayMs: delay }) => [
        {
          target: `${judge}, ${mix}: 64 clients at least ${throughputRatio(judge, mix)} × bare batches`,
          met: Math.max(ratio.p50, processesRatio.p50) >= throughputRatio(judge, mix),
          found: `${processesRatio.p50.toFixed(2)} (${spread(processesRatio, 2)}) by a process for each thread, ${ratio.p50.toFixed(2)} (${spread(ratio, 2)}) by one`,
        },
        {
          target: `${judge}, ${mix}: evaluate at least ${predictedRatio} × bare batches`,
          met: predicted.p50 >= predictedRatio,
          found: `${predicted.p50.toFixed(2)} (${spread(predicted, 2)})`,
        },
        {
          target: `${judge}, ${mix}: event-loop delay under 64 clients, p99 below ${loopDelayMs} ms`,
          met: delay.p50 < loopDelayMs,
          found: `${ms(delay.p50)} ms (${spread(delay, 1)})`,
        },
      ],
    ),
    ...cached.flatMap(({ judge, cachedMs: found, cachedPerSecond: perSecond }) => [
      {
        target: `${judge}, cached: p50 of one client at most ${cachedMs} ms`,
        met: found.p50 <= cachedMs,
        found: `${ms(found.p50)} ms (${spread(found, 2)})`,
      },
      {
        target: `${judge}, cached: at least ${leastCachedPerSecond} requests per second of eight clients`,
        met: perSecond.p50 >= leastCachedPerSecond,
        found: `${perSecond.p50.toFixed(0)} (${spread(perSecond, 0)})`,
      },
    ]),
    {
      target: `process start to ready: below ${readyMs} ms`,
      met: result.readyMs.p50 < readyMs,
      found: `${result.readyMs.p50.toFixed(0)} ms (${spread(result.readyMs, 0)})`,
    },
    ...health.map(({ judge, clients, health: probes, bare }) => ({
      target: `/health while ${clients} clients ask ${judge}: at most ${healthMs} ms`,
      met: probes.max <= healthMs,
      found: `max ${ms(probes.max)} ms, p99 ${ms(probes.p99)} (bare server: ${ms(bare.max)}, ${ms(bare.p99)})`,
    })),
    ...parallel.map(({ judge, clients, largestDifference }) => ({
      target: `${judge}, ${clients} clients: p_solve of a single one within ${pSolveDifference}`,
      met: largestDifference <= pSolveDifference,
      found: `largest difference ${largestDifference.toExponential(1)}`,
    })),
  ];
}
