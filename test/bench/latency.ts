// A judged request against its floor: the same token ids run by onnxruntime alone, and asked of the server
// over one kept connection. The two take turns in rounds, never at the same time, so that a busy minute hits
// both.
import { setTimeout as sleep } from "node:timers/promises";
import { median, type Summary, summarize } from "../support/statistics.js";
import { settleMs, startChild } from "./child.js";
import { createClient, type StageTimes, type TimedAnswer } from "./client.js";
import type { FloorLoad, FloorRun } from "./floor-process.js";
import { createPromptSource, type Mix, mixes, type Prompt } from "./mixes.js";
import type { Subject } from "./subjects.js";

export interface LatencyResult {
  readonly judge: string;
  readonly mix: Mix["name"];
  readonly requests: number;
  readonly floorMs: Timed;
  readonly judgedMs: Timed;
  /** medians by stage, as the server reports them */
  readonly stagesMs: StageTimes;
  readonly budgetMs: number;
  readonly abstentions: number;
}

export interface Timed extends Summary {
  /** least and greatest median of a round */
  readonly roundMedians: { readonly min: number; readonly max: number };
}

/**
 * The target: what a judged request may take beside the bare run. The default judge's encoder remembers the
 * template, which is a good part of a chat prompt.
 */
export function budgetOf(judge: string, mix: Mix["name"], floorMs: number): number {
  return judge === "prefill-judge" && mix === "chat" ? 0.8 * floorMs + 1 : 1.05 * floorMs + 1.5;
}

/** @throws Error when the server ran other tokens than the floor, or answered from a cache */
export async function measureLatency(
  subject: Subject,
  port: number,
  threads: number,
): Promise<LatencyResult[]> {
  const floor = startChild("floor-process.js");
  const client = createClient(port, 1);
  const { modelFile, outputs, judge } = subject;
  try {
    await floor.ask({ modelFile, outputs, threads } satisfies FloorLoad);
    const runFloor = (batch: readonly (readonly number[])[]) =>
      floor.ask<number[]>({ batch } satisfies FloorRun);
    const runServer = async (prompts: readonly Prompt[]) => {
      const answers: TimedAnswer[] = [];
      for (const { text, ids } of prompts) answers.push(checked(await client.ask(judge, text), ids.length));
      return answers;
    };
    const results: LatencyResult[] = [];
    for (const mix of mixes) results.push(await takeTurns(subject, mix, runFloor, runServer));
    return results;
  } finally {
    client.close();
    await floor.close();
  }
}

/**
 * The rounds of one mix. The first request of a turn only brings back what the other side drove out of the
 * caches.
 */
async function takeTurns(
  subject: Subject,
  mix: Mix,
  runFloor: (batch: readonly (readonly number[])[]) => Promise<number[]>,
  runServer: (prompts: readonly Prompt[]) => Promise<TimedAnswer[]>,
): Promise<LatencyResult> {
  const floorRounds: number[][] = [];
  const judgedRounds: TimedAnswer[][] = [];
  const take = createPromptSource(subject, mix, 0);
  for (let round = 0; round < mix.rounds; round++) {
    const asked = take(mix.alone + 1);
    const floorTurn = async () => floorRounds.push((await runFloor(asked.map(({ ids }) => ids))).slice(1));
    const serverTurn = async () => judgedRounds.push((await runServer(asked)).slice(1));
    for (const turn of round % 2 === 0 ? [floorTurn, serverTurn] : [serverTurn, floorTurn]) {
      await sleep(settleMs);
      await turn();
    }
  }
  return toResult(subject.judge, mix.name, floorRounds, judgedRounds);
}

function checked(answer: TimedAnswer, tokenCount: number): TimedAnswer {
  if (answer.abstained === null && (answer.tokens !== tokenCount || answer.cached)) {
    throw new Error(
      `the server ran ${answer.cached ? "nothing (cached)" : `${answer.tokens} tokens`}, wanted ${tokenCount}`,
    );
  }
  return answer;
}

function toResult(
  judge: string,
  mix: Mix["name"],
  floorRounds: readonly number[][],
  judgedRounds: readonly TimedAnswer[][],
): LatencyResult {
  const answers = judgedRounds.flat();
  const stage = (name: keyof StageTimes) => median(answers.map((answer) => answer.milliseconds[name]));
  const floorMs = timed(floorRounds);
  return {
    judge,
    mix,
    requests: answers.length,
    floorMs,
    judgedMs: timed(judgedRounds.map((round) => round.map((answer) => answer.clientMs))),
    stagesMs: {
      queue: stage("queue"),
      tokenize: stage("tokenize"),
      prefill: stage("prefill"),
      head: stage("head"),
      total: stage("total"),
    },
    budgetMs: budgetOf(judge, mix, floorMs.p50),
    abstentions: answers.filter((answer) => answer.abstained !== null).length,
  };
}

function timed(roundsMs: readonly (readonly number[])[]): Timed {
  const medians = roundsMs.map(median);
  return {
    ...summarize(roundsMs.flat()),
    roundMedians: { min: Math.min(...medians), max: Math.max(...medians) },
  };
}
