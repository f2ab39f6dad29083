// A judged request against its floor: the same token ids run by onnxruntime alone, and asked of the server over one
// kept connection. The two take turns in rounds, never at the same time, so that a busy minute hits both.
import { startChild } from "./child.js";
import { createClient, type StageTimes, type TimedAnswer } from "./client.js";
import type { FloorLoad, FloorRun } from "./floor-process.js";
import { promptOfTokens } from "./prompts.js";
import { median, type Summary, summarize } from "./statistics.js";
import type { Subject } from "./subjects.js";

/** The sizes of the target, with the requests of one round (besides one that is not counted). */
const sizes = [
  { tokens: 50, perRound: 10 },
  { tokens: 130, perRound: 6 },
  { tokens: 500, perRound: 3 },
];
const rounds = 7;

interface Prompt {
  readonly text: string;
  readonly ids: readonly number[];
}

export interface LatencyResult {
  readonly judge: string;
  /** most tokens of a prompt of this size, template included */
  readonly tokens: number;
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

/** The target: what a judged request may take beside the bare run. */
export function budgetOf(floorMs: number): number {
  return 1.25 * floorMs + 2;
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
    for (const size of sizes) results.push(await takeTurns(subject, size, runFloor, runServer));
    return results;
  } finally {
    client.close();
    await floor.close();
  }
}

/** The rounds of one size. The first request of a turn only brings back what the other side drove out of the caches. */
async function takeTurns(
  subject: Subject,
  { tokens, perRound }: (typeof sizes)[number],
  runFloor: (batch: readonly (readonly number[])[]) => Promise<number[]>,
  runServer: (prompts: readonly Prompt[]) => Promise<TimedAnswer[]>,
): Promise<LatencyResult> {
  const floorRounds: number[][] = [];
  const judgedRounds: TimedAnswer[][] = [];
  const perTurn = perRound + 1;
  const prompts = promptsOf(subject, tokens, rounds * perTurn);
  for (let round = 0; round < rounds; round++) {
    const asked = prompts.slice(round * perTurn, (round + 1) * perTurn);
    const floorTurn = async () => floorRounds.push((await runFloor(asked.map(({ ids }) => ids))).slice(1));
    const serverTurn = async () => judgedRounds.push((await runServer(asked)).slice(1));
    for (const turn of round % 2 === 0 ? [floorTurn, serverTurn] : [serverTurn, floorTurn]) await turn();
  }
  const mostTokens = Math.max(...prompts.map(({ ids }) => ids.length));
  return toResult(subject.judge, mostTokens, floorRounds, judgedRounds);
}

function promptsOf({ tokenIds }: Subject, tokens: number, count: number): Prompt[] {
  return Array.from({ length: count }, (_, variant) => {
    const text = promptOfTokens(variant, tokens, (candidate) => tokenIds(candidate).length);
    return { text, ids: tokenIds(text) };
  });
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
  tokens: number,
  floorRounds: readonly number[][],
  judgedRounds: readonly TimedAnswer[][],
): LatencyResult {
  const answers = judgedRounds.flat();
  const stage = (name: keyof StageTimes) => median(answers.map((answer) => answer.milliseconds[name]));
  const floorMs = timed(floorRounds);
  return {
    judge,
    tokens,
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
    budgetMs: budgetOf(floorMs.p50),
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
