// Works that are no texts to encode, in their order; each once more when its process dies.
import type { JudgeError } from "../../../errors.js";
import { ProcessLost } from "../process-lost.js";

export interface Errands {
  add<T>(work: () => Promise<T>): Promise<T>;
  /** Takes the first; null without any. What is returned begins it, and settles when its run is over. */
  next(): (() => Promise<void>) | null;
  /** Refuses all that wait. */
  fail(error: JudgeError): void;
}

interface Errand {
  begin(): Promise<void>;
  reject(error: unknown): void;
}

export function createErrands(): Errands {
  let waiting: Errand[] = [];

  return {
    add: (work) =>
      new Promise((resolve, reject) => {
        let isRepeated = false;
        const errand: Errand = {
          begin: () =>
            work().then(resolve, (error: unknown) => {
              if (!(error instanceof ProcessLost) || isRepeated) return reject(error);
              isRepeated = true;
              waiting.unshift(errand);
            }),
          reject,
        };
        waiting.push(errand);
      }),
    next: () => waiting.shift()?.begin ?? null,
    fail(error) {
      const refused = waiting;
      waiting = [];
      for (const errand of refused) errand.reject(error);
    },
  };
}
