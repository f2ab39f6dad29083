// Natural batching: texts that arrive while the encoder process is busy make up its next run. The oldest text is in every
// run, so that nobody is overtaken for longer than one; what cannot be done in time makes room for what can.
import { JudgeError } from "../../errors.js";
import type { BatchLimits, EncodeOptions, EncodeResult, Encoding } from "../encoder.js";
import type { BatchResult } from "./batch.js";
import { ProcessLost } from "./process-lost.js";
import type { EncodeWork } from "./protocol.js";

export interface BatcherParts {
  readonly limits: BatchLimits;
  /** one run; rejects with ProcessLost when the process dies of it or under it, JudgeError when there is none */
  readonly run: (work: EncodeWork) => Promise<BatchResult>;
  readonly up: () => boolean;
  /** milliseconds, that of `expiresAt` */
  readonly clock: () => number;
}

export interface Batcher {
  /** As the encoder port; the entry of a text for which there is no room is a JudgeError `overloaded`. */
  encode(texts: readonly string[], options: EncodeOptions): Promise<EncodeResult>;
}

/** One caller's texts. */
interface Call {
  readonly options: EncodeOptions;
  readonly encodings: (Encoding | JudgeError)[];
  readonly milliseconds: { tokenize: number; prefill: number };
  missing: number;
  finish(): void;
  fail(error: unknown): void;
}

interface Waiting {
  readonly call: Call;
  readonly place: number;
  readonly text: string;
  /** tokens, guessed from its characters */
  readonly size: number;
  /** texts with the same one can run together */
  readonly group: string;
  readonly arrivedMs: number;
  /** its first run ended the process: whether by its own fault shows when it runs without the others */
  suspect: boolean;
}

const charactersPerToken = 4;
/** The longest text of a run over its shortest, as guessed; the process sorts by true length. */
const lengthRatio = 2;
/** Weight of the newest run in the moving average of milliseconds per token. */
const newest = 0.2;

export function createBatcher({ limits, run, up, clock }: BatcherParts): Batcher {
  let waiting: Waiting[] = [];
  let busy = false;
  let timer: NodeJS.Timeout | undefined;
  let msPerToken: number | null = null;

  const encoderDown = () => new JudgeError("encoder_down", "the encoder is not running");
  const overloaded = (why: string) => new JudgeError("overloaded", `${why}; ask again later`);
  const expiresAt = ({ call }: Waiting) => call.options.expiresAt?.() ?? Number.POSITIVE_INFINITY;
  const endOf = (size: number) => clock() + (msPerToken ?? 0) * size;

  function settle({ call, place }: Waiting, encoding: Encoding | JudgeError): void {
    call.encodings[place] = encoding;
    call.missing--;
    if (call.missing === 0) call.finish();
  }

  function leave(call: Call): void {
    waiting = waiting.filter((entry) => entry.call !== call);
  }

  /** Removes what would end too late, as long as somebody else has a use for the time. */
  function shed(): void {
    const hopeless = waiting.filter((entry) => endOf(entry.size) > expiresAt(entry));
    if (hopeless.length === waiting.length) hopeless.pop();
    if (hopeless.length === 0) return;
    waiting = waiting.filter((entry) => !hopeless.includes(entry));
    for (const entry of hopeless) settle(entry, overloaded("more is asked than the encoder can do in time"));
  }

  /** The oldest text and those that can run with it. */
  function take(): Waiting[] {
    const oldest = waiting[0]!;
    const batch = [oldest];
    let size = oldest.size;
    for (const entry of oldest.suspect ? [] : waiting.slice(1)) {
      if (batch.length === limits.maxBatch) break;
      const alike = entry.size <= lengthRatio * oldest.size && oldest.size <= lengthRatio * entry.size;
      const fits =
        size + entry.size <= limits.maxBatchTokens && endOf(size + entry.size) <= expiresAt(oldest);
      if (entry.suspect || entry.group !== oldest.group || !alike || !fits) continue;
      batch.push(entry);
      size += entry.size;
    }
    waiting = waiting.filter((entry) => !batch.includes(entry));
    return batch;
  }

  function pump(): void {
    clearTimeout(timer);
    if (busy) return;
    shed();
    const [oldest] = waiting;
    if (oldest === undefined) return;
    const restMs = oldest.arrivedMs + limits.maxWaitMs - clock();
    if (restMs > 0 && waiting.length < limits.maxBatch) {
      timer = setTimeout(pump, restMs);
      return;
    }
    busy = true;
    const batch = take();
    runBatch(batch)
      .catch((error) => {
        for (const { call } of batch) call.fail(error);
        // there is no process to wait for
        if (!up()) for (const { call } of waiting) call.fail(error);
      })
      .finally(() => {
        busy = false;
        pump();
      });
  }

  async function runBatch(batch: readonly Waiting[]): Promise<void> {
    const { view, layers, pooling } = batch[0]!.call.options;
    const texts = batch.map(({ text }) => text);
    let result: BatchResult;
    try {
      result = await run({
        kind: "encode",
        texts,
        view,
        wanted: { layers, pooling },
        maxBatchTokens: limits.maxBatchTokens,
      });
    } catch (error) {
      if (!(error instanceof ProcessLost)) throw error;
      for (const entry of batch) if (entry.suspect) entry.call.fail(encoderDown());
      const again = batch.filter(({ call, suspect }) => !suspect && call.missing > 0);
      for (const entry of again) entry.suspect = true;
      waiting.unshift(...again);
      return;
    }
    const { tokenize, prefill } = result.milliseconds;
    const rate = (tokenize + prefill) / batch.reduce((sum, entry) => sum + entry.size, 0);
    msPerToken = msPerToken === null ? rate : msPerToken + newest * (rate - msPerToken);
    for (const { milliseconds } of new Set(batch.map(({ call }) => call))) {
      milliseconds.tokenize += tokenize;
      milliseconds.prefill += prefill;
    }
    batch.forEach((entry, index) => {
      settle(entry, result.encodings[index]!);
    });
  }

  return {
    encode(texts, options) {
      return new Promise((resolve, reject) => {
        const { signal, view, layers, pooling } = options;
        if (signal?.aborted) return reject(signal.reason);
        if (!up()) return reject(encoderDown());
        const abort = () => call.fail(signal?.reason);
        const call: Call = {
          options,
          encodings: [],
          milliseconds: { tokenize: 0, prefill: 0 },
          missing: texts.length,
          finish() {
            signal?.removeEventListener("abort", abort);
            resolve({ encodings: call.encodings, milliseconds: call.milliseconds });
          },
          fail(error) {
            signal?.removeEventListener("abort", abort);
            call.missing = 0;
            leave(call);
            reject(error);
          },
        };
        if (texts.length === 0) return call.finish();
        signal?.addEventListener("abort", abort, { once: true });
        const group = JSON.stringify([view, layers, pooling]);
        const arrivedMs = clock();
        texts.forEach((text, place) => {
          const size = 1 + Math.ceil(text.length / charactersPerToken);
          const entry = { call, place, text, size, group, arrivedMs, suspect: false };
          if (waiting.length < limits.queueLimit) waiting.push(entry);
          else settle(entry, overloaded(`${limits.queueLimit} texts are waiting already`));
        });
        pump();
      });
    },
  };
}
