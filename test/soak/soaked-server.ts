// The server under soak: what it serves, and how long one waits for it.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { promptOfWords } from "../support/prompts.js";
import type { ServeProcess } from "../support/server-process.js";

export const fastJudge = "prefill-judge-fast";
export const defaultJudge = "prefill-judge";

/**
 * A configuration with the fast judge alone. Results are kept only where that is asked for: the others are to
 * reach the encoder, though their prompts come again.
 */
export function fastConfig(deadlineMs: number, cacheBytes = 0): string {
  return `[runtime]\ndeadline_ms = ${deadlineMs}\ncache_bytes = ${cacheBytes}\n[judges.${fastJudge}]\n`;
}

/** Different prompts of 10 to 60 words. */
export function somePrompts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => promptOfWords(index, 10 + ((index * 7) % 50)));
}

/** @throws AssertionError when `condition` does not come true in time */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs: number,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    assert.ok(performance.now() < end, `${what}: not within ${timeoutMs} ms`);
    await sleep(20);
  }
}

/** Waits until every judge can answer. */
export async function untilReady({ url }: ServeProcess, timeoutMs = 20_000): Promise<void> {
  const isReady = async () => {
    const response = await fetch(`${url}/ready`, { headers: { connection: "close" } });
    await response.arrayBuffer();
    return response.status === 200;
  };
  await until(isReady, "ready", timeoutMs);
}

/** Lines of the log with this message. */
export function logged({ errors }: ServeProcess, message: string): number {
  return errors.split(`"msg":"${message}`).length - 1;
}
