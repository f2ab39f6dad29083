// The steps of a load. Each has its time and ends with the load it belongs to, whatever stands behind it.
import { abortable, withTimeout } from "../abort.js";
import type { Encoder } from "../encoder/encoder.js";
import { type ErrorCode, JudgeError } from "../errors.js";

export interface LoadLimits {
  /** of one step */
  readonly timeoutMs: number;
  /** aborts when the load is given up */
  readonly signal?: AbortSignal | undefined;
}

export interface LoadStep {
  /** of the error */
  readonly code: ErrorCode;
  /** what has not happened when it is late, such as `encoder a has not loaded` */
  readonly late: string;
}

/**
 * What `work` comes to. A late one is no longer waited for, but not stopped.
 * @throws JudgeError when its time is up; the signal's reason
 */
export function loadStep<T>(
  { code, late }: LoadStep,
  { timeoutMs, signal: outer }: LoadLimits,
  work: () => Promise<T>,
): Promise<T> {
  const error = () =>
    new JudgeError(code, {
      found: `${late} within ${timeoutMs} ms`,
      remedy: "look at its files and at the chat template, or raise runtime.load_timeout_ms",
    });
  return withTimeout(timeoutMs, error, outer, (signal) => abortable(work(), signal));
}

/** Starts an encoder in its time. */
export function startEncoder(encoder: Encoder, limits: LoadLimits): Promise<void> {
  const step = { code: "encoder", late: `encoder ${encoder.id} has not loaded` } as const;
  return loadStep(step, limits, () => encoder.start());
}
