// One run for all judges that read the same encoder in the same view, and for equal texts in flight.
import type { EncodeOptions, EncodeResult, Encoder, Encoding } from "../encoder/encoder.js";
import type { View } from "../encoder/view.js";
import type { JudgeError } from "../errors.js";
import type { PoolingMode } from "../features/pooling.js";

/** What a text came to, and the milliseconds of the run that encoded it. */
export interface Encoded {
  readonly encoding: Encoding | JudgeError;
  /** true when somebody else's run encoded it, or that of another place of the same call */
  readonly isShared: boolean;
  readonly milliseconds: EncodeResult["milliseconds"];
}

export interface SharedRun {
  readonly view: View;
  /** Adds to the layers and modes that every run from now on delivers. */
  want(features: { layers: readonly number[]; pooling: readonly PoolingMode[] }): void;
  /**
   * Settles when the text's run has ended, which may be after the signal's abort.
   * @throws the signal's reason when it aborts before the run has begun; what the encoder throws
   */
  encode(text: string, limits: Limits): Promise<Encoded>;
}

/** How long a caller waits, and how urgently. */
export interface Limits {
  readonly signal: AbortSignal;
  /** on performance.now()'s clock */
  readonly expiresAt: number;
  /** others go first */
  readonly isBulk: boolean;
}

interface Run {
  readonly controller: AbortController;
  readonly result: Promise<EncodeResult>;
  /** who still waits */
  readonly waiters: Set<Limits>;
}

export function createSharedRun(encoder: Encoder, view: View): SharedRun {
  const layers = new Set<number>();
  const pooling = new Set<PoolingMode>();
  const inFlight = new Map<string, Run>();

  function start(text: string, first: Limits): Run {
    const controller = new AbortController();
    const waiters = new Set([first]);
    const options: EncodeOptions = {
      view,
      layers: [...layers].sort((a, b) => a - b),
      pooling: [...pooling].sort(),
      signal: controller.signal,
      // as long as the most patient waits, and as urgent as the most urgent
      expiresAt: () => [...waiters].reduce((latest, { expiresAt }) => Math.max(latest, expiresAt), 0),
      isBulk: () => [...waiters].every(({ isBulk }) => isBulk),
    };
    const result = encoder.encode([text], options).finally(() => {
      if (inFlight.get(text) === run) inFlight.delete(text);
    });
    const run: Run = { controller, result, waiters };
    inFlight.set(text, run);
    return run;
  }

  /** Waits for a run; when the last who waits leaves, it is given up. */
  async function join(run: Run, limits: Limits): Promise<EncodeResult> {
    const { signal } = limits;
    run.waiters.add(limits);
    const leave = () => {
      run.waiters.delete(limits);
      if (run.waiters.size === 0) run.controller.abort(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await run.result;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  async function encode(text: string, limits: Limits): Promise<Encoded> {
    limits.signal.throwIfAborted();
    // one object for each place that waits
    const waiter = { ...limits };
    const found = inFlight.get(text);
    const run = found ?? start(text, waiter);
    try {
      const { encodings, milliseconds } = await join(run, waiter);
      return { encoding: encodings[0]!, isShared: found !== undefined, milliseconds };
    } catch (error) {
      if (!run.controller.signal.aborted || limits.signal.aborted) throw error;
      // those before gave it up while this one came
      return await encode(text, limits);
    }
  }

  return {
    view,
    want(features) {
      const before = layers.size + pooling.size;
      for (const layer of features.layers) layers.add(layer);
      for (const mode of features.pooling) pooling.add(mode);
      // runs in flight do not deliver what is new: nobody joins them any more
      if (layers.size + pooling.size > before) inFlight.clear();
    },
    encode,
  };
}

/** The shared runs of one generation of judges: one for each encoder and view. */
export function createSharedRuns(): (encoder: Encoder, view: View) => SharedRun {
  const known = new Map<Encoder, Map<string, SharedRun>>();
  return (encoder, view) => {
    const ofEncoder = known.get(encoder) ?? new Map<string, SharedRun>();
    known.set(encoder, ofEncoder);
    const key = JSON.stringify([
      view.template,
      view.templateArguments ?? {},
      view.maxTokens,
      view.truncation,
    ]);
    const shared = ofEncoder.get(key) ?? createSharedRun(encoder, view);
    ofEncoder.set(key, shared);
    return shared;
  };
}
