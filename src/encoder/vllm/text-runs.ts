// Texts → token ids → encodings, whatever runs the ids.
import { JudgeError } from "../../errors.js";
import type { PooledVectors } from "../../features/pooled.js";
import type { EncodeOptions, EncodeResult, Encoding, Tokens } from "../encoder.js";
import { encoderFault } from "../encoder-fault.js";
import { shorten } from "../tokenizer/shorten.js";
import { tokenizeAll } from "../tokenizer/tokenize-all.js";
import type { Tokenizer } from "../tokenizer/tokenizer.js";
import type { View } from "../view.js";
import type { WorkSlices } from "./work-slices.js";

export interface TextRuns {
  /** The token ids of each text, or its error. */
  tokenize(texts: readonly string[], view: View): Promise<(Tokens | JudgeError)[]>;
  /**
   * Each text by itself; the error of one is its own.
   * @throws the reason of `signal`
   */
  encode(
    texts: readonly string[],
    options: Pick<EncodeOptions, "view">,
    signal: AbortSignal | undefined,
    run: (ids: readonly number[]) => Promise<PooledVectors>,
  ): Promise<EncodeResult>;
}

/** @param tokenizer throws while there is none */
export function createTextRuns(tokenizer: () => Tokenizer, slices: WorkSlices): TextRuns {
  /** Each text in a slice of its own. */
  async function inSlices(texts: readonly string[], view: View): Promise<(Tokens | JudgeError)[]> {
    const entries = texts.map((text) => slices.take(() => tokenizeAll(tokenizer(), [text], view)));
    return (await Promise.all(entries)).flat();
  }

  async function encodeOne(
    entry: Tokens | JudgeError,
    signal: AbortSignal | undefined,
    run: (ids: readonly number[]) => Promise<PooledVectors>,
  ): Promise<Encoding | JudgeError> {
    if (entry instanceof JudgeError) return entry;
    const { ids, ...found } = entry;
    try {
      return { pooled: await run(ids), tokenCount: ids.length, ...found };
    } catch (error) {
      signal?.throwIfAborted();
      return error instanceof JudgeError ? error : encoderFault("the encoder failed on this text", error);
    }
  }

  return {
    async tokenize(texts, view) {
      const shortened = shorten(texts, view);
      return (await inSlices(shortened.texts, view)).map(shortened.flag);
    },
    async encode(texts, { view }, signal, run) {
      const started = performance.now();
      const shortened = shorten(texts, view);
      const tokens = await inSlices(shortened.texts, view);
      const tokenized = performance.now();
      const encodings = await Promise.all(tokens.map((entry) => encodeOne(entry, signal, run)));
      return {
        encodings: encodings.map(shortened.flag),
        milliseconds: { tokenize: tokenized - started, prefill: performance.now() - tokenized },
      };
    },
  };
}
