// The real batcher over a simulated encoder, in simulated time: requests come when the plan says, runs take
// what the encoder's cost says, and whoever waits past the deadline leaves.
import { setImmediate as turn } from "node:timers/promises";
import type { Encoding } from "../../../src/encoder/encoder.js";
import { createBatcher } from "../../../src/encoder/onnx/batching/batcher.js";
import type { View } from "../../../src/encoder/view.js";
import { JudgeError } from "../../../src/errors.js";

export interface Request {
  readonly atMs: number;
  readonly characters: number;
  readonly deadlineMs: number;
  readonly isBulk?: boolean;
}

export interface Outcome extends Request {
  readonly result: "judged" | "overloaded" | "deadline";
  readonly endMs: number;
}

/** A deterministic source of numbers in [0, 1). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const view: View = { template: "chat", maxTokens: 2048, truncation: "middle" };
const templateTokens = 30;
const charactersPerToken = 4.5;

/** tokens of a text, template included */
export function tokensOf(characters: number): number {
  return Math.min(view.maxTokens, templateTokens + Math.ceil(characters / charactersPerToken));
}

/** milliseconds of one text's forward: what was measured of SmolLM2 on two cores, attention included */
export function costOf(tokens: number): number {
  return 6 + 0.34 * tokens + 0.00012 * tokens ** 2;
}

/** @param noise the factor of each run's time */
export async function simulate(requests: readonly Request[], noise: () => number): Promise<Outcome[]> {
  let now = 0;
  const events: { atMs: number; happen(): void }[] = [];
  const at = (atMs: number, happen: () => void) => {
    const place = events.findLastIndex((event) => event.atMs <= atMs) + 1;
    events.splice(place, 0, { atMs, happen });
  };
  const batcher = createBatcher({
    limits: { maxBatch: 32, maxBatchTokens: 1024, maxWaitMs: 0, queueLimit: 256 },
    runs: () => 1,
    templateTokens: () => templateTokens,
    clock: () => now,
    run: ({ texts }) =>
      new Promise((resolve) => {
        const tokens = texts.map(({ length }) => tokensOf(length));
        const milliseconds = tokens.reduce((sum, count) => sum + costOf(count), 0) * noise();
        const encodings = tokens.map(
          (tokenCount): Encoding => ({
            pooled: new Map(),
            tokenCount,
            truncated: tokenCount === view.maxTokens,
          }),
        );
        at(now + milliseconds, () =>
          resolve({ encodings, milliseconds: { tokenize: 0, prefill: milliseconds } }),
        );
      }),
  });
  const outcomes: Outcome[] = [];
  requests.forEach((request) => {
    at(request.atMs, () => {
      const expires = request.atMs + request.deadlineMs;
      const leaving = new AbortController();
      const late = new JudgeError("deadline", { found: "late" });
      const over = (result: Outcome["result"]) => {
        if (!leaving.signal.aborted) outcomes.push({ ...request, result, endMs: now });
        leaving.abort(late);
      };
      at(expires, () => over("deadline"));
      const options = { view, layers: [1], pooling: ["mean" as const], signal: leaving.signal };
      batcher
        .encode(["x".repeat(request.characters)], {
          ...options,
          expiresAt: () => expires,
          isBulk: () => request.isBulk ?? false,
        })
        .then(({ encodings: [found] }) => over(found instanceof JudgeError ? "overloaded" : "judged"))
        .catch(() => {});
    });
  });
  while (events.length > 0) {
    const { atMs, happen } = events.shift()!;
    now = atMs;
    happen();
    // the batcher delivers each text in a turn of its own
    for (let turns = 0; turns < 3; turns++) await turn();
  }
  return outcomes.sort((a, b) => a.atMs - b.atMs);
}

/** When each of the requests would end with one at a time in the order of their coming, none left out. */
export function oneAfterTheOther(requests: readonly Request[]): number[] {
  let free = 0;
  return requests.map(({ atMs, characters }) => {
    free = Math.max(free, atMs) + costOf(tokensOf(characters));
    return free;
  });
}
