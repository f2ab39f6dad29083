// Chats of 2 to 8,000 characters that come at random, beside clients that score in bulk: below what the
// encoder can do hardly anybody is refused, and above it the time goes to those who can be judged.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "../../src/train/numeric/random.js";
import { promptOfWords } from "../support/prompts.js";
import { startServe } from "../support/server-process.js";
import { askOnce, type Case, checkReply } from "./answers.js";
import { defaultJudge } from "./soaked-server.js";

const [shortest, longest] = [2, 8000];
const scoreClients = 2;
const scoredTexts = 8;

interface Phase {
  /** offered, of what the encoder did one at a time */
  readonly load: number;
  readonly durationMs: number;
}

interface Tally {
  readonly milliseconds: number[];
  readonly reasons: Record<string, number>;
}

export async function mixLengths(context: TestContext, durationMs: number, seed: number): Promise<void> {
  const random = createRandom(seed);
  const server = await startServe(
    `[runtime]\ndeadline_ms = 10000\ncache_bytes = 0\n[judges.${defaultJudge}]\n`,
  );
  try {
    const prompts = Array.from({ length: 30 }, (_, index) => {
      const characters = Math.round(shortest * (longest / shortest) ** random.uniform());
      return promptOfWords(index, Math.ceil(characters / 4)).slice(0, characters);
    });
    // the first runs of a process are slower
    for (const prompt of prompts.slice(0, 5)) await askOnce(server.url, { judge: defaultJudge, prompt });
    const started = performance.now();
    const cases: Case[] = [];
    for (const prompt of prompts) {
      const reply = await askOnce(server.url, { judge: defaultJudge, prompt });
      assert.equal(checkReply(reply, null, []), null);
      cases.push({ judge: defaultJudge, prompt, pSolve: JSON.parse(reply.body).prefill_judge.p_solve });
    }
    const meanMs = (performance.now() - started) / prompts.length;
    for (const load of [0.6, 2]) {
      const phase = { load, durationMs: durationMs / 2 };
      const chats = await offer(server.url, phase, { cases, meanMs, random });
      context.diagnostic(`offered ${load} of capacity: ${describe(chats)}`);
      const count = chats.milliseconds.length;
      const refused = chats.reasons.overloaded ?? 0;
      if (load < 1) assert.ok(refused <= Math.max(1, count / 100), `${refused} of ${count} were refused`);
      assert.ok((chats.reasons.judged ?? 0) > count / 4, "most of the time went to nobody");
    }
  } finally {
    await server.kill();
  }
}

/**
 * Chats at a rate, whoever has been answered, and beside them clients that score one list after the other.
 */
async function offer(
  url: string,
  { load, durationMs }: Phase,
  given: { cases: readonly Case[]; meanMs: number; random: ReturnType<typeof createRandom> },
): Promise<Tally> {
  const { cases, meanMs, random } = given;
  const tally: Tally = { milliseconds: [], reasons: {} };
  const end = performance.now() + durationMs;
  let isOver = false;
  const scoring = Array.from({ length: scoreClients }, async (_, client) => {
    while (!isOver) await score(url, cases.slice(client * scoredTexts, (client + 1) * scoredTexts));
  });
  const asked: Promise<void>[] = [];
  while (performance.now() < end) {
    asked.push(ask(url, cases[random.below(cases.length)]!, tally));
    await sleep((-Math.log(1 - random.uniform()) * meanMs) / load);
  }
  await Promise.all(asked);
  isOver = true;
  await Promise.all(scoring);
  return tally;
}

async function ask(url: string, asked: Case, { milliseconds, reasons }: Tally): Promise<void> {
  const started = performance.now();
  const reason = checkReply(await askOnce(url, asked), asked.pSolve, ["deadline", "overloaded"]) ?? "judged";
  reasons[reason] = (reasons[reason] ?? 0) + 1;
  milliseconds.push(performance.now() - started);
}

/** All texts of a list come back, each with its own probability or a reason. */
async function score(url: string, cases: readonly Case[]): Promise<void> {
  const body = JSON.stringify({ model: defaultJudge, prompts: cases.map(({ prompt }) => prompt) });
  const response = await fetch(`${url}/v1/score`, { method: "POST", body });
  const { results } = (await response.json()) as { results: { p_solve: number; abstained: string | null }[] };
  assert.equal(results.length, cases.length);
  for (const [place, { p_solve, abstained }] of results.entries()) {
    if (abstained === null) assert.ok(Math.abs(p_solve - cases[place]!.pSolve) <= 1e-5);
    else assert.ok(["deadline", "overloaded"].includes(abstained), abstained);
  }
}

function describe({ milliseconds, reasons }: Tally): string {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (part: number) => Math.round(sorted[Math.floor(part * (sorted.length - 1))]!);
  return `${sorted.length} chats, ${JSON.stringify(reasons)}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}
