// The encoder port: text in, pooled hidden states out. test/support/encoder-contract.ts holds its rules.
import type { JudgeError } from "../errors.js";
import type { PooledVectors, WantedFeatures } from "../features/pooled.js";
import type { View } from "./view.js";

/** How an encoder puts texts together. */
export interface BatchLimits {
  /** texts of one run */
  readonly maxBatch: number;
  /** tokens of one run, padding included; a longer text runs alone */
  readonly maxBatchTokens: number;
  /** how long a text waits for company while the encoder is idle */
  readonly maxWaitMs: number;
  /** texts that may wait; more are refused as `overloaded` */
  readonly queueLimit: number;
}

export interface EncodeOptions extends WantedFeatures {
  readonly view: View;
  /** ends the wait of a text whose run has not begun; a run that has begun may still deliver */
  readonly signal?: AbortSignal;
  /** when nobody waits any more, on performance.now()'s clock; absent: all texts are done */
  readonly expiresAt?: () => number;
  /** whether others go first, but for a share of the time; absent: they do not */
  readonly isBulk?: () => boolean;
}

/** What an encoder found out about one text. */
export interface Encoding {
  /** one vector [hiddenSize] for each layer and pooling mode asked for */
  readonly pooled: PooledVectors;
  /** tokens that were run, template and special tokens included */
  readonly tokenCount: number;
  readonly truncated: boolean;
  /** as in Tokens */
  readonly unreadable?: true;
}

export interface EncodeResult {
  /** one entry per text, in order: an encoding, or the error of that text alone */
  readonly encodings: readonly (Encoding | JudgeError)[];
  /** milliseconds spent on the whole call, waiting excluded */
  readonly milliseconds: { readonly tokenize: number; readonly prefill: number };
}

/** What is known of an encoder once it has loaded. */
export interface EncoderFacts {
  readonly hiddenSize: number;
  /** the hidden-state indices it can give */
  readonly layers: readonly number[];
  /** indices that it has only before the model's final norm, and therefore does not give */
  readonly unnormalisedLayers?: readonly number[];
  /** why its hidden states may have wrong indices, which only a selftest can tell */
  readonly layerDoubt?: JudgeError;
  /** tokens the model itself can take */
  readonly maxTokens: number;
  /** what its files claim, where that is more */
  readonly claimedTokens?: number;
  /** SHA-256 (hex) of the chat template; null without one */
  readonly chatTemplateHash: string | null;
  /** tokens a view needs beside the user's text, by template */
  readonly templateTokens: { readonly none: number; readonly chat: number };
  /** where it runs, e.g. `cpu` */
  readonly device: string;
  /** the library that runs it in this machine, with its version; absent where none does */
  readonly runtime?: string;
  readonly threads: number;
  /** processes that encode side by side; 1 where it is somebody else's matter */
  readonly processes: number;
  /** SHA-256 of each file that decides the result, by name */
  readonly files: Readonly<Record<string, string>>;
  /** the names of those that hold the model; absent where it runs elsewhere */
  readonly weightFiles?: readonly string[];
  /** SHA-256 over `files`, first 16 hex digits */
  readonly hash: string;
}

/** Where hidden states come from: an encoder, or one of the servers behind it. */
export type ProofSource = Pick<Encoder, "id" | "facts" | "tokenize" | "encode">;

/** Throws where a source does not give what is wanted of it, such as the results of a selftest. */
export type Proof = (source: ProofSource) => Promise<void>;

export interface Encoder {
  readonly id: string;
  /** the model's own name, where the configuration gives it */
  readonly modelName: string | null;
  /** true while texts can be encoded */
  readonly up: boolean;
  /** why it is not up, as far as that is known */
  readonly fault: JudgeError | null;
  /** known after `start` */
  readonly facts: EncoderFacts;
  /** Results of equal scopes are equal, and may be kept: it changes when they come from another source. */
  readonly scope: string;
  /**
   * Loads the model.
   * @throws JudgeError `encoder` with file, finding and remedy; `encoder_down` for what may pass: then it may
   *   be started again
   */
  start(): Promise<void>;
  /**
   * Runs a proof on whatever gives hidden states, and again on what comes back or takes over, before any
   * result of it is given out.
   * @returns ends it
   * @throws what the proof throws
   */
  admit(proof: Proof): Promise<() => void>;
  /**
   * Where more is asked than can be done, texts come back as JudgeError `overloaded`.
   * @throws JudgeError `encoder_down` when the encoder is not up, or died twice under this call;
   *   `signal.reason` when aborted
   */
  encode(texts: readonly string[], options: EncodeOptions): Promise<EncodeResult>;
  /** The token ids that `encode` would run, or the error of that text; fails as `encode` does. */
  tokenize(texts: readonly string[], view: View): Promise<readonly (Tokens | JudgeError)[]>;
  /** Ends it at once; what waits fails with `encoder_down`. */
  close(): Promise<void>;
}

export interface Tokens {
  readonly ids: readonly number[];
  readonly truncated: boolean;
  /** no token of the user's own says anything: all are unknown, or a cut left only white space */
  readonly unreadable?: true;
}
