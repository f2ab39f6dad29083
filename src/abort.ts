// Work that ends when its caller's signal aborts or when its time is up. Its own signal tells it.
import { setMaxListeners } from "node:events";
import type { JudgeError } from "./errors.js";

/**
 * Runs `work` with a controller that aborts when `outer` aborts. `work` must settle then. Afterwards no
 * listener is left on `outer`.
 * @throws the reason of the first abort, whatever the outcome of `work`
 */
export async function linked<T>(
  outer: AbortSignal | undefined,
  work: (controller: AbortController) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  // each part of the work may add a listener
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

/** As `linked`, but after `timeoutMs` the work is aborted with the error that `late` makes. */
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

/** As `promise`, but rejects when the signal aborts first, with its reason. `promise` itself goes on. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
