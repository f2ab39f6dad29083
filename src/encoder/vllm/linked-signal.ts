// An abort controller for one piece of work that also follows a caller's signal, and lets go of it afterwards.

/**
 * Runs `work`, which must settle when its controller aborts.
 *
 * @throws the reason of whichever aborted first, whatever `work` came to
 */
export async function linked<T>(
  outer: AbortSignal | undefined,
  work: (controller: AbortController) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  const leave = () => controller.abort(outer?.reason);
  outer?.addEventListener("abort", leave, { once: true });
  try {
    return await work(controller);
  } finally {
    outer?.removeEventListener("abort", leave);
    controller.signal.throwIfAborted();
  }
}
