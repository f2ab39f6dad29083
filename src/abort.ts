// Work that ends with its caller's signal, or when its time is up.
import { setMaxListeners } from "node:events";
import type { JudgeError } from "./errors.js";

/**
 * Runs `work`, which must settle when its controller aborts, with a controller that follows `outer` and lets
 * go of it afterwards.
 *
 * @throws the reason of whichever aborted first, whatever `work` came to
 */
export async function linked<T>(
  outer: AbortSignal | undefined,
  work: (controller: AbortController) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  // as many as the work has parts
  setMaxListeners(0, controller.signal);
  const leave = () => controller.abort(outer?.reason);
  outer?.addEventListener("abort", leave, { once: true });
  try {
    return await work(controller);
  } finally {
    outer?.removeEventListener("abort", leave);
    controller.signal.throwIfAborted();
  }
}

/** As `linked`, with an end of its own: after `timeoutMs` the reason is `late`'s. */
export function withTimeout<T>(
  timeoutMs: number,
  late: () => JudgeError,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return linked(outer, async (controller) => {
    const timer = setTimeout(() => controller.abort(late()), timeoutMs);
    try {
      return await work(controller.signal);
    } finally {
      clearTimeout(timer);
    }
  });
}

/** Rejects with the signal's reason when it aborts first; `promise` goes on. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
