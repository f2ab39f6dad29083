// Starts encoders and the judges on them: at once, or again and again until an encoder is there.
import { setTimeout as sleep } from "node:timers/promises";
import { asJudgeError } from "../errors.js";
import type { Judge } from "../judge/judge-parts.js";
import type { BuiltEncoder } from "./encoders.js";
import { type LoadLimits, loadStep, startEncoder } from "./load-step.js";

export interface StartParts {
  readonly judges: readonly Judge[];
  /** encoders that do not run yet */
  readonly fresh: readonly BuiltEncoder[];
  /** of one step */
  readonly timeoutMs: number;
}

/**
 * Starts one encoder, if it does not run, and prepares its judges; may be called again after it failed.
 * @throws JudgeError with the first fault, or the first step that takes too long; the signal's reason
 */
export function createStart({ judges, fresh, timeoutMs }: StartParts) {
  const waiting = new Set(fresh);
  return async (built: BuiltEncoder, signal?: AbortSignal): Promise<void> => {
    const limits: LoadLimits = { timeoutMs, signal };
    if (waiting.has(built)) await startEncoder(built.encoder, limits);
    waiting.delete(built);
    const own = judges.filter(({ encoder }) => encoder === built.encoder);
    await Promise.all(
      own.map((judge) => {
        const step = { code: "checkpoint", late: `judge ${judge.id} has not passed its selftest` } as const;
        return loadStep(step, limits, () => judge.prepare());
      }),
    );
  };
}

export interface LateParts {
  readonly start: () => Promise<void>;
  /** told what stands in the way, each time it is something else */
  readonly onFault: (reason: string) => void;
  /** aborts when nobody wants it any more */
  readonly signal: AbortSignal;
}

const retryMs = 1000;

/** Starts until it works. @returns false when the signal aborted before */
export async function startLate({ start, onFault, signal }: LateParts): Promise<boolean> {
  for (let told: string | null = null; !signal.aborted; ) {
    try {
      await start();
      return true;
    } catch (error) {
      const { message } = asJudgeError(error);
      if (message !== told && !signal.aborted) onFault(message);
      told = message;
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }
  return false;
}
