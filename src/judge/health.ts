// Whether answers come out of a judge. Errors and silence raise a suspicion; a known good text decides.
import { abortable, withTimeout } from "../abort.js";
import { asJudgeError, JudgeError } from "../errors.js";

export interface HealthParts {
  /** judges the known good text anew; @throws what stands in the way of an answer */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  readonly deadlineMs: number;
  /** milliseconds, monotonic */
  readonly clock: () => number;
  /** told when answers stop, with what stands in the way, and null when they come again */
  readonly onChange: (fault: JudgeError | null) => void;
  /** between two probes */
  readonly pauseMs?: number;
}

export interface Health {
  /** whether answers come out, as far as is known */
  readonly isGood: boolean;
  /** what stands in their way; null while they come out */
  readonly fault: JudgeError | null;
  /** A text has its answer. */
  answered(): void;
  /** A text has none. */
  failed(error: JudgeError): void;
  /** Ends the probing. */
  close(): void;
}

/** So many errors in a row, with no answer between them, are looked into. */
const suspiciousErrors = 3;
/** A probe waits for its turn, too: shorter deadlines say nothing of health. */
const leastProbeMs = 1000;

export function createHealth({ probe, deadlineMs, clock, onChange, pauseMs = 1000 }: HealthParts): Health {
  const probeMs = Math.max(deadlineMs, leastProbeMs);
  const silent = () =>
    new JudgeError("deadline", {
      found: `no answer comes out within ${probeMs} ms, not even to a text that is known`,
    });
  let isGood = true;
  let fault: JudgeError | null = null;
  let isProbing = false;
  let isClosed = false;
  let errorsInARow = 0;
  let answeredMs = Number.NEGATIVE_INFINITY;
  let probedMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  function answered(): void {
    errorsInARow = 0;
    answeredMs = clock();
    if (isGood || isClosed) return;
    isGood = true;
    fault = null;
    clearTimeout(timer);
    onChange(null);
  }

  function noAnswer(error: JudgeError, sinceMs: number): void {
    // an answer to anybody is one; a process that is not there, or has too much to do, is told of by others
    const isElsewhere = error.code === "encoder_down" || error.code === "overloaded";
    if (isElsewhere || answeredMs >= sinceMs || !isGood || isClosed) return;
    isGood = false;
    fault = error;
    onChange(error);
  }

  async function look(): Promise<void> {
    isProbing = true;
    const startedMs = clock();
    try {
      // what runs already in a process that hangs does not heed the signal
      await withTimeout(probeMs, silent, undefined, (signal) => abortable(probe(signal), signal));
      answered();
    } catch (error) {
      noAnswer(asJudgeError(error), startedMs);
    }
    isProbing = false;
    probedMs = clock();
    if (!isGood && !isClosed) timer = setTimeout(look, pauseMs).unref();
  }

  return {
    get isGood() {
      return isGood;
    },
    get fault() {
      return fault;
    },
    answered,
    failed({ code }) {
      if (code === "encoder_error" || code === "internal") errorsInARow++;
      const isSilent = code === "deadline" && clock() - answeredMs > deadlineMs;
      const isSuspicious = isSilent || errorsInARow >= suspiciousErrors;
      const isDue = isGood && !isProbing && !isClosed && clock() - probedMs >= pauseMs;
      if (isSuspicious && isDue) void look();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
