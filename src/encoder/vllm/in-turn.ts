// Asks several servers for one thing: the next one when one fails, has used up its share of the time, or is
// slower than usual.
import { linked } from "../../abort.js";

export interface TurnRules<Candidate> {
  /** aborts when nobody waits any more */
  readonly signal: AbortSignal;
  /** milliseconds that a candidate may take; `left`: candidates not asked yet, this one included */
  readonly budgetMs: (left: number) => number;
  /** the error of a candidate that took longer */
  readonly late: (candidate: Candidate, budgetMs: number) => Error;
  /** milliseconds after which the next one is asked beside it; null: none is */
  readonly hedgeMs: (candidate: Candidate) => number | null;
  /** whether an error would be every candidate's */
  readonly isFinal: (error: unknown) => boolean;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/**
 * What the first candidate to answer says. Attempts that it overtook are aborted.
 * @param candidates in the order in which they are asked; at least one
 * @throws the errors of all, in the order in which they came, as an AggregateError; a final error itself; the
 *   signal's reason
 */
export function askInTurn<Candidate, T>(
  candidates: readonly Candidate[],
  { signal, budgetMs, late, hedgeMs, isFinal }: TurnRules<Candidate>,
  attempt: (candidate: Candidate, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const waiting = [...candidates];
  const running = new Set<Promise<Outcome<T>>>();
  const stops = new Set<AbortController>();
  const errors: unknown[] = [];
  let hedge: { readonly wait: Promise<null>; cancel(): void } | null = null;

  function ask(candidate: Candidate, outer: AbortSignal): Promise<T> {
    return linked(outer, async (controller) => {
      const budget = budgetMs(waiting.length + 1);
      const stop = () => controller.abort(late(candidate, budget));
      const timer = budget === Number.POSITIVE_INFINITY ? undefined : setTimeout(stop, budget);
      stops.add(controller);
      try {
        return await attempt(candidate, controller.signal);
      } finally {
        clearTimeout(timer);
        stops.delete(controller);
      }
    });
  }

  function askNext(outer: AbortSignal): void {
    const candidate = waiting.shift()!;
    hedge?.cancel();
    const afterMs = waiting.length === 0 ? null : hedgeMs(candidate);
    hedge = afterMs === null ? null : pause(afterMs);
    const outcome = ask(candidate, outer).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    running.add(outcome);
    outcome.finally(() => running.delete(outcome));
  }

  return linked(signal, async ({ signal: outer }) => {
    try {
      askNext(outer);
      for (;;) {
        const outcome = await Promise.race([...running, ...(hedge === null ? [] : [hedge.wait])]);
        if (outcome === null) {
          askNext(outer);
          continue;
        }
        if ("value" in outcome) return outcome.value;
        outer.throwIfAborted();
        if (isFinal(outcome.error)) throw outcome.error;
        errors.push(outcome.error);
        if (running.size > 0) continue;
        if (waiting.length === 0) throw new AggregateError(errors);
        askNext(outer);
      }
    } finally {
      hedge?.cancel();
      for (const controller of stops) controller.abort(new Error("another server answered"));
    }
  });
}

function pause(milliseconds: number): { readonly wait: Promise<null>; cancel(): void } {
  let timer: NodeJS.Timeout | undefined;
  const wait = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), milliseconds);
  });
  return { wait, cancel: () => clearTimeout(timer) };
}
