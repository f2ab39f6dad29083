// At most so many calls at once. Others wait in order, bulk last, and leave when nobody waits for them.
import { overloaded } from "../overloaded.js";

export interface Waiting {
  readonly isPatient?: boolean;
  readonly isBulk?: () => boolean;
}

/** Every so many places one is given to a call in bulk, where any waits. */
const bulkTurn = 10;

export interface Limiter {
  /**
   * Runs `work` once there is room.
   * @param how `isPatient`: it waits however many do; `isBulk`: others go first, but for every tenth place
   * @throws JudgeError `overloaded` where too many wait already; `signal.reason` when aborted while waiting
   */
  run<T>(work: () => Promise<T>, signal: AbortSignal, how?: Waiting): Promise<T>;
}

export function createLimiter(maxInFlight: number, queueLimit: number): Limiter {
  let inFlight = 0;
  let waiting: { readonly how: Waiting; enter(): void }[] = [];
  let sinceBulk = 0;

  function room(signal: AbortSignal, how: Waiting): Promise<void> {
    if (inFlight < maxInFlight) {
      inFlight++;
      return Promise.resolve();
    }
    if (how.isPatient !== true && waiting.length >= queueLimit) throw overloaded();
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting = waiting.filter((other) => other !== entry);
        reject(signal.reason);
      };
      const entry = {
        how,
        enter() {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      waiting.push(entry);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** The place passes to the next in line. */
  function pass(): void {
    const isBulk = ({ how }: (typeof waiting)[number]) => how.isBulk?.() ?? false;
    const bulk = waiting.find(isBulk);
    const other = waiting.find((entry) => !isBulk(entry));
    const next = sinceBulk >= bulkTurn - 1 ? (bulk ?? other) : (other ?? bulk);
    if (next === undefined) {
      inFlight--;
      return;
    }
    sinceBulk = bulk === undefined || next === bulk ? 0 : sinceBulk + 1;
    waiting = waiting.filter((entry) => entry !== next);
    next.enter();
  }

  return {
    async run(work, signal, how = {}) {
      signal.throwIfAborted();
      await room(signal, how);
      try {
        return await work();
      } finally {
        pass();
      }
    },
  };
}
