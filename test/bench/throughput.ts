// Prompts per second: the server asked by 8 and 64 clients, another with one process for each thread by 64,
// `predict` of the command line, and onnxruntime's bare run in the best of several batch sizes, round by
// round on prompts of the same lengths.
import { setTimeout as sleep } from "node:timers/promises";
import { promptOfWords } from "../support/prompts.js";
import { type Summary, summarize } from "../support/statistics.js";
import { settleMs, startChild } from "./child.js";
import { createClient } from "./client.js";
import type { FloorBatches, FloorLoad } from "./floor-process.js";
import { createPromptSource, type Mix, type Prompt } from "./mixes.js";
import type { PredictStart } from "./predict-process.js";
import { scrape } from "./scrape.js";
import type { Subject } from "./subjects.js";

/** Those before are asked by the one client. */
const firstPrompt = 1000;
const warmUpVariant = 1_000_000;
const batchSizes = [1, 4, 8, 16];
/** A round goes on for so long: in a shorter one, start and end count for more than what lies between. */
const roundSeconds = 2;
export const crowds = [8, 64] as const;

export interface ThroughputResult {
  readonly judge: string;
  readonly mix: Mix["name"];
  /** bare run in the best batch size, prompts per second */
  readonly bare: Summary;
  readonly bestBatch: number;
  /** by number of clients */
  readonly served: Readonly<Record<number, Summary>>;
  /** of 64 clients over bare, one value per round */
  readonly ratio: Summary;
  /** 64 clients of the server with several processes */
  readonly processes: Summary;
  readonly processesRatio: Summary;
  readonly predicted: Summary;
  readonly predictedRatio: Summary;
  /** event-loop delay of the server while 64 clients ask, 99th percentile of each round, milliseconds */
  readonly loopDelayMs: Summary;
  readonly abstentions: number;
}

export async function measureThroughput(
  subject: Subject,
  mix: Mix,
  server: { readonly port: number; readonly processesPort: number; readonly threads: number },
): Promise<ThroughputResult> {
  const floor = startChild("floor-process.js");
  const predictor = startChild("predict-process.js");
  const { modelFile, outputs, judge } = subject;
  const take = createPromptSource(subject, mix, firstPrompt);
  const served: Record<number, number[]> = { 8: [], 64: [] };
  const bare: number[] = [];
  const processes: number[] = [];
  const predicted: number[] = [];
  const delays: number[] = [];
  let abstentions = 0;
  let bestBatch = 1;
  try {
    await floor.ask({ modelFile, outputs, threads: server.threads } satisfies FloorLoad);
    await predictor.ask({ judge, threads: server.threads } satisfies PredictStart);
    const runBare = async (size: number, prompts: readonly Prompt[]) => {
      const batches = batchesOf(prompts, size);
      const milliseconds = await floor.ask<number>({ batches } satisfies FloorBatches);
      return (1000 * prompts.length) / milliseconds;
    };
    const sample = take(mix.together);
    const bySize: number[] = [];
    for (const size of batchSizes) bySize.push(await runBare(size, sample));
    const fastest = Math.max(...bySize);
    bestBatch = batchSizes[bySize.indexOf(fastest)]!;
    const count = Math.max(mix.together, Math.ceil(roundSeconds * fastest));
    for (let round = 0; round < mix.crowdRounds; round++) {
      await sleep(settleMs);
      for (const clients of crowds) {
        await scrape(server.port);
        const answered = await ask(server.port, judge, take(count), clients);
        served[clients]!.push(answered.perSecond);
        abstentions += answered.abstentions;
        if (clients === 64)
          delays.push(1000 * (await scrape(server.port)).get("nodejs_eventloop_lag_p99_seconds")!);
      }
      const spread = await ask(server.processesPort, judge, take(count), 64);
      processes.push(spread.perSecond);
      abstentions += spread.abstentions;
      bare.push(await runBare(bestBatch, take(count)));
      await sleep(settleMs);
      const texts = take(count).map(({ text }) => text);
      predicted.push((1000 * texts.length) / (await predictor.ask<number>({ texts })));
    }
  } finally {
    await Promise.all([floor.close(), predictor.close()]);
  }
  const over = (values: readonly number[]) => summarize(values.map((value, round) => value / bare[round]!));
  return {
    judge,
    mix: mix.name,
    bare: summarize(bare),
    bestBatch,
    served: Object.fromEntries(crowds.map((clients) => [clients, summarize(served[clients]!)])),
    ratio: over(served[64]!),
    processes: summarize(processes),
    processesRatio: over(processes),
    predicted: summarize(predicted),
    predictedRatio: over(predicted),
    loopDelayMs: summarize(delays),
    abstentions,
  };
}

/** Short prompts, which nothing else asks: V8 goes on compiling for some thousand requests. */
export async function warmUp(port: number, judge: string, requests: number): Promise<void> {
  const texts = Array.from({ length: requests }, (_, index) => promptOfWords(warmUpVariant + index, 12));
  await ask(
    port,
    judge,
    texts.map((text) => ({ text })),
    64,
  );
}

/** Sorted by length, so that a batch pads little. */
function batchesOf(prompts: readonly Prompt[], size: number): number[][][] {
  const sorted = prompts.map(({ ids }) => [...ids]).sort((a, b) => a.length - b.length);
  return Array.from({ length: Math.ceil(sorted.length / size) }, (_, index) =>
    sorted.slice(index * size, (index + 1) * size),
  );
}

async function ask(port: number, judge: string, prompts: readonly Pick<Prompt, "text">[], clients: number) {
  const client = createClient(port, clients);
  let next = 0;
  let abstentions = 0;
  const started = performance.now();
  const loop = async () => {
    while (next < prompts.length) {
      const { abstained, cached } = await client.ask(judge, prompts[next++]!.text);
      if (cached) throw new Error("a prompt of the benchmark came twice");
      if (abstained !== null) abstentions++;
    }
  };
  await Promise.all(Array.from({ length: clients }, loop));
  const seconds = (performance.now() - started) / 1000;
  client.close();
  return { perSecond: prompts.length / seconds, abstentions };
}
