// Whose turn it is among the texts that wait, and for whom there is no time. Pure.
import type { RunCost } from "./run-cost.js";

/** A text that waits, as far as its turn depends on it. */
export interface Waiter {
  /** tokens, guessed */
  readonly size: number;
  /** on the clock of `now`; infinite: it has time */
  expiresAt(): number;
}

/** What the encoder can do from now on. */
export interface Outlook {
  readonly now: number;
  /** processes that share the work */
  readonly processes: number;
  readonly cost: RunCost;
}

/**
 * Those that end in time one after the other: the longest steps back while one is late (Moore, 1968).
 * @param part of the expected cost that is reckoned with
 */
export function inTime<T extends Waiter>(queue: readonly T[], outlook: Outlook, part = 1): T[] {
  const { now, processes, cost } = outlook;
  const kept = new Set<T>();
  let tokens = 0;
  for (const entry of queue) {
    const leftMs = entry.expiresAt() - now;
    kept.add(entry);
    tokens += entry.size;
    while (part * cost.expected(Math.max(entry.size, tokens / processes)) > leftMs) {
      const longest = longestOf(kept);
      kept.delete(longest);
      tokens -= longest.size;
      if (longest === entry) break;
    }
  }
  return [...kept];
}

function longestOf<T extends Waiter>(entries: ReadonlySet<T>): T {
  let longest: T | undefined;
  for (const entry of entries) if (longest === undefined || entry.size >= longest.size) longest = entry;
  return longest!;
}

/** How long a queue's first text may wait before one text is late, in milliseconds; 0 where one is late. */
export function spareMs(queue: readonly Waiter[], { now, processes, cost }: Outlook): number {
  let spare = Number.POSITIVE_INFINITY;
  let tokens = 0;
  for (const { size, expiresAt } of queue) {
    tokens += size;
    spare = Math.min(spare, expiresAt() - now - cost.expected(Math.max(size, tokens / processes)));
  }
  return Math.max(0, spare);
}

/** Whether a text cannot be done in time even if it is next, as far as the runs before it tell. */
export function isHopeless(entry: Waiter, { now, cost }: Outlook): boolean {
  return now + cost.leastPart * cost.expected(entry.size) > entry.expiresAt();
}

/** Whether the last text of a queue cannot be done in time, as far as earlier runs tell. */
export function isTooMuch(queue: readonly Waiter[], outlook: Outlook): boolean {
  const { leastPart } = outlook.cost;
  // one by itself takes nobody's time
  if (queue.length < 2 || leastPart === 0) return false;
  return !inTime(queue, outlook, leastPart).includes(queue.at(-1)!);
}
