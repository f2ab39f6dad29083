// At most so many calls at once; the others wait in order, and leave when nobody waits for them any more.
import { overloaded } from "../overloaded.js";

export interface Limiter {
  /**
   * Runs `work` once there is room.
   *
   * @param isPatient it waits however many do
   * @throws JudgeError `overloaded` where too many wait already; `signal.reason` when aborted while waiting
   */
  run<T>(work: () => Promise<T>, signal: AbortSignal, isPatient?: boolean): Promise<T>;
}

export function createLimiter(maxInFlight: number, queueLimit: number): Limiter {
  let inFlight = 0;
  const waiting: (() => void)[] = [];

  function room(signal: AbortSignal, isPatient: boolean): Promise<void> {
    if (inFlight < maxInFlight) {
      inFlight++;
      return Promise.resolve();
    }
    if (!isPatient && waiting.length >= queueLimit) throw overloaded();
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(enter), 1);
        reject(signal.reason);
      };
      waiting.push(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  return {
    async run(work, signal, isPatient = false) {
      signal.throwIfAborted();
      await room(signal, isPatient);
      try {
        return await work();
      } finally {
        // the place passes to the next in line
        const next = waiting.shift();
        if (next === undefined) inFlight--;
        else next();
      }
    },
  };
}
