// Tells when a work takes too long. It counts looks, not hours: while this process itself is paused nothing counts, since the
// answer may lie unread, and whoever worked may have been paused too.

export interface Watchdog {
  /** A work begins. */
  watch(): void;
  /** There is no work any more. */
  rest(): void;
}

const looks = 20;

/** @param onLate called once, after a work of `limitMs` in which this process ran */
export function createWatchdog(limitMs: number, onLate: () => void): Watchdog {
  let timer: NodeJS.Timeout | undefined;
  const rest = () => clearInterval(timer);
  return {
    watch() {
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
