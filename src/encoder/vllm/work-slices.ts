// Work for this thread, one piece in a turn of the event loop, so that nothing else waits long.

export interface WorkSlices {
  /** Runs `work`, which should be short, when it is its turn; rejects with what it throws. */
  take<T>(work: () => T): Promise<T>;
}

export function createWorkSlices(): WorkSlices {
  const waiting: (() => void)[] = [];
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || waiting.length === 0) return;
    isScheduled = true;
    // one that is asked for while immediates run comes in the next turn
    setImmediate(() => {
      waiting.shift()!();
      isScheduled = false;
      schedule();
    });
  }

  return {
    take(work) {
      return new Promise((resolve, reject) => {
        waiting.push(() => {
          try {
            resolve(work());
          } catch (error) {
            reject(error);
          }
        });
        schedule();
      });
    },
  };
}
