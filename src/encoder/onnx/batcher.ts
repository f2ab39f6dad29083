// Natural batching: texts that arrive while every encoder process is busy make up the next run. The oldest text is in every
// run, so that nobody waits for longer than those before it need; what cannot be done in time makes room for what can.
import { setImmediate as turn } from "node:timers/promises";
import { JudgeError } from "../../errors.js";
import type { BatchLimits, EncodeOptions, EncodeResult, Encoding } from "../encoder.js";
import { overloaded } from "../overloaded.js";
import type { BatchResult } from "./batch.js";
import { ProcessLost } from "./process-lost.js";
import type { EncodeWork } from "./protocol.js";

export interface BatcherParts {
  readonly limits: BatchLimits;
  /** one run; rejects with ProcessLost when the process dies of it or under it */
  readonly run: (work: EncodeWork) => Promise<BatchResult>;
  /** how many runs can go on at the same time; 0: what waits goes on waiting, and more is refused */
  readonly runs: () => number;
  /** milliseconds, that of `expiresAt` */
  readonly clock: () => number;
}

export interface Batcher {
  /** As the encoder port; the entry of a text for which there is no room is a JudgeError `overloaded`. */
  encode(texts: readonly string[], options: EncodeOptions): Promise<EncodeResult>;
  /** There are more runs than before. */
  wake(): void;
  /** There is nothing to wait for: what waits fails. */
  giveUp(): void;
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

export function createBatcher({ limits, run, runs, clock }: BatcherParts): Batcher {
  let waiting: Waiting[] = [];
  let running = 0;
  let timer: NodeJS.Timeout | undefined;
  let msPerToken: number | null = null;

  const encoderDown = () => new JudgeError("encoder_down", "the encoder is not running");
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
    for (const entry of hopeless) settle(entry, overloaded());
  }

  /**
   * The oldest text and those that can run with it, nearest in length first: padding is work for nothing.
   *
   * @param most texts
   */
  function take(most: number): Waiting[] {
    const oldest = waiting[0]!;
    const distance = ({ size }: Waiting) => Math.abs(size - oldest.size);
    const batch = [oldest];
    let size = oldest.size;
    for (const entry of companions(oldest).sort((a, b) => distance(a) - distance(b))) {
      if (batch.length >= most) break;
      const sum = size + entry.size;
      if (sum > limits.maxBatchTokens || endOf(sum) > expiresAt(oldest)) continue;
      batch.push(entry);
      size = sum;
    }
    const taken = new Set(batch);
    waiting = waiting.filter((entry) => !taken.has(entry));
    return batch;
  }

  function companions(oldest: Waiting): Waiting[] {
    if (oldest.suspect) return [];
    return waiting.filter(({ size, group, suspect }, place) => {
      const alike = size <= lengthRatio * oldest.size && oldest.size <= lengthRatio * size;
      return place > 0 && !suspect && group === oldest.group && alike;
    });
  }

  function pump(): void {
    clearTimeout(timer);
    while (running < runs() && begin());
  }

  /** Starts one run; false when nothing waits, or the oldest text still waits for company. */
  function begin(): boolean {
    shed();
    const [oldest] = waiting;
    if (oldest === undefined) return false;
    const restMs = oldest.arrivedMs + limits.maxWaitMs - clock();
    if (restMs > 0 && waiting.length < limits.maxBatch) {
      timer = setTimeout(pump, restMs);
      return false;
    }
    // what waits is shared out among the processes that are free
    const share = Math.ceil(waiting.length / (runs() - running));
    running++;
    const batch = take(Math.min(limits.maxBatch, share));
    const { view, layers, pooling } = oldest.call.options;
    const wanted = { layers, pooling };
    const texts = batch.map(({ text }) => text);
    run({ kind: "encode", texts, view, wanted, maxBatchTokens: limits.maxBatchTokens })
      .then(
        (result) => () => deliver(batch, result),
        (error: unknown) => {
          if (error instanceof ProcessLost) retryAlone(batch);
          else for (const { call } of batch) call.fail(error);
          return null;
        },
      )
      .then((delivery) => {
        running--;
        // before the results are looked at: meanwhile the process works
        pump();
        return delivery?.();
      });
    return true;
  }

  function retryAlone(batch: readonly Waiting[]): void {
    for (const entry of batch) if (entry.suspect) entry.call.fail(encoderDown());
    const again = batch.filter(({ call, suspect }) => !suspect && call.missing > 0);
    for (const entry of again) entry.suspect = true;
    waiting.unshift(...again);
  }

  async function deliver(batch: readonly Waiting[], result: BatchResult): Promise<void> {
    const { tokenize, prefill } = result.milliseconds;
    const rate = (tokenize + prefill) / batch.reduce((sum, entry) => sum + entry.size, 0);
    msPerToken = msPerToken === null ? rate : msPerToken + newest * (rate - msPerToken);
    for (const { milliseconds } of new Set(batch.map(({ call }) => call))) {
      milliseconds.tokenize += tokenize;
      milliseconds.prefill += prefill;
    }
    for (const [index, entry] of batch.entries()) {
      // each result goes its way by itself: together they would hold up all else in this process
      if (index > 0) await turn();
      settle(entry, result.encodings[index]!);
    }
  }

  return {
    encode(texts, options) {
      return new Promise((resolve, reject) => {
        const { signal, view, layers, pooling } = options;
        if (signal?.aborted) return reject(signal.reason);
        if (runs() === 0) return reject(encoderDown());
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
          const hasRoom = options.expiresAt === undefined || waiting.length < limits.queueLimit;
          if (hasRoom) waiting.push(entry);
          else settle(entry, overloaded(`${limits.queueLimit} texts are waiting already`));
        });
        pump();
      });
    },
    wake: pump,
    giveUp() {
      for (const { call } of waiting) call.fail(encoderDown());
    },
  };
}
