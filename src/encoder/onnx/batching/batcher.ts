// The only queue of an ONNX encoder: texts that arrive while all processes are busy make the next run.
import { setImmediate as turn } from "node:timers/promises";
import { JudgeError } from "../../../errors.js";
import type { BatchLimits, EncodeOptions, EncodeResult } from "../../encoder.js";
import { overloaded } from "../../overloaded.js";
import type { View } from "../../view.js";
import type { BatchResult } from "../child/batch.js";
import { ProcessLost } from "../process-lost.js";
import type { EncodeWork } from "../protocol.js";
import { type Call, createCall } from "./call.js";
import { createErrands } from "./errands.js";
import { createQueue, type Waiting } from "./queue.js";

export interface BatcherParts {
  readonly limits: BatchLimits;
  /** one run; rejects with ProcessLost when the process dies of it or under it */
  readonly run: (work: EncodeWork) => Promise<BatchResult>;
  /** how many runs can go on at the same time; 0: what waits goes on waiting, and more is refused */
  readonly runs: () => number;
  /** tokens around a text */
  readonly templateTokens: (view: View) => number;
  /** milliseconds, that of `expiresAt` */
  readonly clock: () => number;
}

export interface Batcher {
  /** As the encoder port. A text without room or time gets a JudgeError `overloaded`. */
  encode(texts: readonly string[], options: EncodeOptions): Promise<EncodeResult>;
  /**
   * Another work of a process, before all texts; once more when its process dies.
   * @throws JudgeError `encoder_down`; what `work` throws
   */
  errand<T>(work: () => Promise<T>): Promise<T>;
  /** There are more runs than before. */
  wake(): void;
  /** There is nothing to wait for: what waits fails. */
  giveUp(): void;
}

export function createBatcher({ limits, run, runs, templateTokens, clock }: BatcherParts): Batcher {
  const queue = createQueue({ limits, clock, processes: () => Math.max(1, runs()) });
  const errands = createErrands();
  let running = 0;
  let timer: NodeJS.Timeout | undefined;
  let isPumpDue = false;

  const encoderDown = () => new JudgeError("encoder_down", { found: "the encoder is not running" });

  /** After all that comes in this turn of the event loop: texts that come together run together. */
  function schedulePump(): void {
    if (isPumpDue) return;
    isPumpDue = true;
    queueMicrotask(() => {
      isPumpDue = false;
      pump();
    });
  }

  /** Timers and ends of runs call it. An exception there would end the server, so what waits takes it. */
  function pump(): void {
    clearTimeout(timer);
    try {
      while (running < runs() && (beginErrand() || begin()));
    } catch (error) {
      for (const call of queue.calls()) call.fail(error);
    }
  }

  function beginErrand(): boolean {
    const errand = errands.next();
    if (errand === null) return false;
    running++;
    void errand().finally(() => {
      running--;
      pump();
    });
    return true;
  }

  /** Starts one run; false when nothing waits, or the oldest text still waits for company. */
  function begin(): boolean {
    for (const entry of queue.shed()) entry.call.settle(entry.place, overloaded());
    const restMs = queue.restMs();
    if (restMs === null) return false;
    if (restMs > 0) {
      timer = setTimeout(pump, restMs);
      return false;
    }
    // what waits is shared out among the processes that are free
    const batch = queue.take(runs() - running);
    running++;
    const { view, layers, pooling } = batch[0]!.call.options;
    const texts = batch.map(({ text }) => text);
    run({ kind: "encode", texts, view, wanted: { layers, pooling }, maxBatchTokens: limits.maxBatchTokens })
      .then((result) => {
        queue.learn(batch, result);
        return () => deliver(batch, result);
      })
      .catch((error: unknown) => {
        if (error instanceof ProcessLost) retryAlone(batch);
        else for (const { call } of batch) call.fail(error);
        return null;
      })
      .then((delivery) => {
        running--;
        // before the results are looked at: meanwhile the process works
        pump();
        return delivery?.();
      })
      .catch((error: unknown) => {
        for (const { call } of batch) call.fail(error);
      });
    return true;
  }

  function retryAlone(batch: readonly Waiting[]): void {
    for (const { call, isSuspect } of batch) {
      if (call.options.signal?.aborted) call.fail(call.options.signal.reason);
      else if (isSuspect) call.fail(encoderDown());
    }
    const again = batch.filter(({ call }) => !call.isOver);
    queue.putBack(again.map((entry) => ({ ...entry, isSuspect: true })));
  }

  async function deliver(batch: readonly Waiting[], { encodings, milliseconds }: BatchResult): Promise<void> {
    for (const call of new Set(batch.map((entry) => entry.call))) call.spend(milliseconds);
    for (const [index, { call, place }] of batch.entries()) {
      // each result goes its way by itself: together they would hold up all else in this process
      if (index > 0) await turn();
      call.settle(place, encodings[index]!);
    }
  }

  return {
    encode(texts, options) {
      return new Promise((resolve, reject) => {
        const { signal, view, layers, pooling, expiresAt } = options;
        if (signal?.aborted) return reject(signal.reason);
        if (runs() === 0) return reject(encoderDown());
        if (texts.length === 0) return resolve({ encodings: [], milliseconds: { tokenize: 0, prefill: 0 } });
        const call: Call = createCall(texts.length, options, {
          resolve,
          reject,
          isWaiting: () => queue.has(call),
          onOver: () => queue.leave(call),
        });
        const group = JSON.stringify([view, layers, pooling]);
        const bounds = { template: templateTokens(view), most: view.maxTokens };
        for (const [place, text] of texts.entries()) {
          const why = queue.add({ call, place, text, group, bounds, isPatient: expiresAt === undefined });
          if (why !== null) call.settle(place, overloaded(why));
        }
        schedulePump();
      });
    },
    errand(work) {
      if (runs() === 0) return Promise.reject(encoderDown());
      const result = errands.add(work);
      schedulePump();
      return result;
    },
    wake: pump,
    giveUp() {
      errands.fail(encoderDown());
      for (const call of queue.calls()) call.fail(encoderDown());
    },
  };
}
