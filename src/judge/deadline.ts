// A limit on how long somebody waits. The work is told through its signal; whether it can stop is its own matter.
import { JudgeError } from "../errors.js";

/**
 * Runs `work` with a signal that aborts after `timeoutMs` (JudgeError `deadline`) or when `outer` does (its reason).
 * `work` must settle when its signal aborts.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const leave = () => controller.abort(outer?.reason);
  if (outer?.aborted) leave();
  outer?.addEventListener("abort", leave, { once: true });
  const timer = setTimeout(() => {
    controller.abort(new JudgeError("deadline", `the judge had no result within ${timeoutMs} ms`));
  }, timeoutMs);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", leave);
  }
}
