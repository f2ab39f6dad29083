// What a repeated prompt costs: the server's kept results beside a bare Hono handler that gets and gives the
// same bodies, in turn.

import { median, type Summary, summarize } from "../support/statistics.js";
import { startChild } from "./child.js";
import { chatBody, createClient } from "./client.js";

const rounds = 7;
const alone = 300;
const together = 6000;
const clients = 8;

export interface CachedResult {
  readonly judge: string;
  /** of one client, milliseconds */
  readonly cachedMs: Summary;
  readonly bareMs: Summary;
  /** of eight clients */
  readonly cachedPerSecond: Summary;
  readonly barePerSecond: Summary;
  /** our requests per second over the bare handler's, one value per round */
  readonly ratio: Summary;
}

/** @throws Error when an answer is not from the cache */
export async function measureCached(judge: string, port: number): Promise<CachedResult> {
  const bare = startChild("bare-hono-process.js");
  const client = createClient(port, clients);
  try {
    const body = chatBody(
      judge,
      "A question that many clients ask in the very same words, over and over again.",
    );
    await client.exchange(body);
    const { body: answer } = await client.exchange(body);
    if (!answer.includes('"cached":true')) throw new Error("the second answer is not from the cache");
    const bareClient = createClient(await bare.ask<number>({ answer }), clients);
    const measured = { cached: [] as Turn[], bare: [] as Turn[] };
    // the first round warms up
    for (let round = 0; round <= rounds; round++) {
      measured.cached.push(await turn(client, body));
      measured.bare.push(await turn(bareClient, body));
    }
    bareClient.close();
    const [cached, plain] = [measured.cached.slice(1), measured.bare.slice(1)];
    return {
      judge,
      cachedMs: summarize(cached.map(({ p50 }) => p50)),
      bareMs: summarize(plain.map(({ p50 }) => p50)),
      cachedPerSecond: summarize(cached.map(({ perSecond }) => perSecond)),
      barePerSecond: summarize(plain.map(({ perSecond }) => perSecond)),
      ratio: summarize(cached.map(({ perSecond }, round) => perSecond / plain[round]!.perSecond)),
    };
  } finally {
    client.close();
    await bare.close();
  }
}

interface Turn {
  readonly p50: number;
  readonly perSecond: number;
}

async function turn(client: ReturnType<typeof createClient>, body: string): Promise<Turn> {
  const milliseconds: number[] = [];
  for (let request = 0; request < alone; request++)
    milliseconds.push((await client.exchange(body)).milliseconds);
  let left = together;
  const started = performance.now();
  const loop = async () => {
    while (left-- > 0) await client.exchange(body);
  };
  await Promise.all(Array.from({ length: clients }, loop));
  return { p50: median(milliseconds), perSecond: together / ((performance.now() - started) / 1000) };
}
