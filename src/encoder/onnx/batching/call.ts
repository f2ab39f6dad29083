// One caller's texts: collects what becomes of each, and answers when nothing is missing.
import type { JudgeError } from "../../../errors.js";
import type { EncodeOptions, EncodeResult, Encoding } from "../../encoder.js";

export interface Call {
  readonly options: EncodeOptions;
  /** it has been answered */
  readonly isOver: boolean;
  /** What became of the text at a place. */
  settle(place: number, encoding: Encoding | JudgeError): void;
  /** What a run with its texts took. */
  spend(milliseconds: EncodeResult["milliseconds"]): void;
  fail(error: unknown): void;
}

export interface CallEvents {
  resolve(result: EncodeResult): void;
  reject(error: unknown): void;
  /** whether one of its texts waits */
  isWaiting(): boolean;
  onOver(): void;
}

/** @param count texts, at least one */
export function createCall(count: number, options: EncodeOptions, events: CallEvents): Call {
  const encodings: (Encoding | JudgeError)[] = [];
  const milliseconds = { tokenize: 0, prefill: 0 };
  let missing = count;
  let isOver = false;

  const abort = () => {
    if (events.isWaiting()) fail(options.signal?.reason);
  };
  function end(): boolean {
    if (isOver) return false;
    isOver = true;
    options.signal?.removeEventListener("abort", abort);
    events.onOver();
    return true;
  }
  function fail(error: unknown): void {
    if (end()) events.reject(error);
  }

  options.signal?.addEventListener("abort", abort, { once: true });
  return {
    options,
    get isOver() {
      return isOver;
    },
    settle(place, encoding) {
      encodings[place] = encoding;
      missing--;
      if (missing === 0 && end()) events.resolve({ encodings, milliseconds });
    },
    spend({ tokenize, prefill }) {
      milliseconds.tokenize += tokenize;
      milliseconds.prefill += prefill;
    },
    fail,
  };
}
