// One forward for all judges that read the same encoder in the same view: it asks for the union of their layers, and equal
// texts in flight share one run. A run goes on while anybody waits for it.
import type { EncodeOptions, Encoder, Encoding, View } from "../encoder/encoder.js";
import type { JudgeError } from "../errors.js";
import type { PoolingMode } from "../features/pooling.js";

/** What one text came to, and the milliseconds of the run that encoded it. */
export interface Encoded {
  readonly encoding: Encoding | JudgeError;
  /** true when another caller's run, or another place of the same call, encoded it */
  readonly shared: boolean;
  readonly milliseconds: { readonly tokenize: number; readonly prefill: number };
}

export interface Forward {
  readonly view: View;
  /** Adds to the layers and modes that every run from now on delivers. */
  want(features: { layers: readonly number[]; pooling: readonly PoolingMode[] }): void;
  /**
   * @throws the signal's reason when it aborts; what the encoder throws
   */
  encode(texts: readonly string[], limits: Limits): Promise<Encoded[]>;
}

/** How long a caller waits. */
export interface Limits {
  readonly signal: AbortSignal;
  /** on performance.now()'s clock */
  readonly expiresAt: number;
}

interface Run {
  readonly controller: AbortController;
  readonly results: Promise<Map<string, Omit<Encoded, "shared">>>;
  waiters: number;
  /** until when the most patient of the waiters waits */
  readonly patience: { expiresAt: number };
}

export function createForward(encoder: Encoder, view: View): Forward {
  const layers = new Set<number>();
  const pooling = new Set<PoolingMode>();
  const inFlight = new Map<string, Run>();

  function start(texts: readonly string[], expiresAt: number): Run {
    const controller = new AbortController();
    const patience = { expiresAt };
    const options: EncodeOptions = {
      view,
      layers: [...layers].sort((a, b) => a - b),
      pooling: [...pooling].sort(),
      signal: controller.signal,
      expiresAt: () => patience.expiresAt,
    };
    const results = encoder
      .encode(texts, options)
      .then(({ encodings, milliseconds }) => {
        return new Map(texts.map((text, index) => [text, { encoding: encodings[index]!, milliseconds }]));
      })
      .finally(() => {
        for (const text of texts) if (inFlight.get(text) === run) inFlight.delete(text);
      });
    const run: Run = { controller, results, waiters: 0, patience };
    for (const text of texts) inFlight.set(text, run);
    return run;
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
    async encode(texts, { signal, expiresAt }) {
      signal.throwIfAborted();
      const fresh = [...new Set(texts)].filter((text) => !inFlight.has(text));
      const own = fresh.length > 0 ? start(fresh, expiresAt) : null;
      const runOf = texts.map((text) => inFlight.get(text)!);
      const runs = new Set(runOf);
      for (const run of runs) {
        run.waiters++;
        run.patience.expiresAt = Math.max(run.patience.expiresAt, expiresAt);
      }
      try {
        const results = await abortable(Promise.all([...runs].map((run) => run.results)), signal);
        const found = new Map(results.flatMap((result) => [...result]));
        return texts.map((text, place) => {
          const shared = runOf[place] !== own || texts.indexOf(text) < place;
          return { ...found.get(text)!, shared };
        });
      } finally {
        for (const run of runs) {
          run.waiters--;
          if (run.waiters > 0 || !signal.aborted) continue;
          for (const [text, other] of inFlight) if (other === run) inFlight.delete(text);
          run.controller.abort(signal.reason);
        }
      }
    },
  };
}

/** Rejects with the signal's reason when it aborts first. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** The forwards of one generation of judges: one for each encoder and view. */
export function createForwards(): (encoder: Encoder, view: View) => Forward {
  const forwards = new Map<Encoder, Map<string, Forward>>();
  return (encoder, view) => {
    const ofEncoder = forwards.get(encoder) ?? new Map<string, Forward>();
    forwards.set(encoder, ofEncoder);
    const key = JSON.stringify([
      view.template,
      view.templateArguments ?? {},
      view.maxTokens,
      view.truncation,
    ]);
    const forward = ofEncoder.get(key) ?? createForward(encoder, view);
    ofEncoder.set(key, forward);
    return forward;
  };
}
