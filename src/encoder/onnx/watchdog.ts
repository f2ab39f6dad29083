// Tells when a work takes too long. It counts looks, since the process itself may have been paused.

export interface Watchdog {
  /** A work begins, which may take so long. */
  watch(limitMs: number): void;
  /** There is no work any more. */
  rest(): void;
}

const looks = 20;

/** @param onLate called once, after `limitMs` of a work in which this process ran */
export function createWatchdog(onLate: () => void): Watchdog {
  let timer: NodeJS.Timeout | undefined;
  const rest = () => clearInterval(timer);
  return {
    watch(limitMs) {
      rest();
      let left = looks;
      timer = setInterval(() => {
        left--;
        if (left > 0) return;
        rest();
        onLate();
      }, limitMs / looks).unref();
    },
    rest,
  };
}
