// Whether the servers can be used: one real prefill at the start, and again after a call found none.
import { asJudgeError } from "../../errors.js";

export interface ProbeParts<T> {
  readonly retryMs: number;
  /** one prefill */
  readonly look: () => Promise<T>;
  /** @param how `loadMs`: how long the look took */
  up(how: { restarts: number; loadMs: number }): void;
  down(reason: string): void;
}

export interface Probe<T> {
  readonly up: boolean;
  /** @throws what the first look throws */
  start(): Promise<T>;
  /** A call found no server: look, and be down if that is so. */
  suspect(): void;
  close(): void;
}

export function createProbe<T>({ retryMs, look, up, down }: ProbeParts<T>): Probe<T> {
  let isUp = false;
  let isClosed = false;
  let looking = false;
  let restarts = 0;
  let timer: NodeJS.Timeout | undefined;

  async function lookAgain(): Promise<void> {
    if (looking || isClosed) return;
    looking = true;
    const started = performance.now();
    try {
      await look();
      if (!isClosed && !isUp) {
        isUp = true;
        restarts++;
        up({ restarts, loadMs: performance.now() - started });
      }
    } catch (error) {
      if (isClosed) return;
      const { code, message } = asJudgeError(error);
      // it answers: the next call is as likely to be taken as this one
      if (isUp && code === "overloaded") return;
      const wasUp = isUp;
      isUp = false;
      if (wasUp) down(message);
      timer = setTimeout(lookAgain, retryMs);
      timer.unref();
    } finally {
      looking = false;
    }
  }

  return {
    get up() {
      return isUp;
    },
    async start() {
      const started = performance.now();
      const found = await look();
      isUp = !isClosed;
      up({ restarts, loadMs: performance.now() - started });
      return found;
    },
    suspect() {
      if (isUp) void lookAgain();
    },
    close() {
      isClosed = true;
      isUp = false;
      clearTimeout(timer);
    },
  };
}
