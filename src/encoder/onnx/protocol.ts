// The messages between the server and its encoder process, by structured clone.

import type { WantedFeatures } from "../../features/pooled.js";
import type { EncoderFacts, Tokens } from "../encoder.js";
import type { View } from "../view.js";
import type { PackedEncodings } from "./packed-encodings.js";
import type { WireError } from "./wire-error.js";

export interface LoadCommand {
  readonly kind: "load";
  readonly folder: string;
  readonly threads: number;
  readonly paddingSide: "left" | "right";
  /** SHA-256 by file name that a restart must find again; null at the first start */
  readonly files: EncoderFacts["files"] | null;
}

export interface EncodeWork {
  readonly kind: "encode";
  readonly texts: readonly string[];
  readonly view: View;
  readonly wanted: WantedFeatures;
  /** of one forward, padding included */
  readonly maxBatchTokens: number;
}

export type Work =
  | EncodeWork
  | { readonly kind: "tokenize"; readonly texts: readonly string[]; readonly view: View };

export type Command = LoadCommand | { readonly kind: "work"; readonly id: number; readonly work: Work };

export interface LoadedFacts extends Omit<EncoderFacts, "files" | "hash" | "processes" | "weightFiles"> {
  /** SHA-256 (hex) of what was read of the model's other files, by name */
  readonly weightHashes: Readonly<Record<string, string>>;
}

export type Answer =
  | {
      readonly kind: "encoded";
      readonly encodings: PackedEncodings;
      readonly milliseconds: { readonly tokenize: number; readonly prefill: number };
    }
  | { readonly kind: "tokenized"; readonly tokens: readonly (Tokens | WireError)[] }
  | { readonly kind: "refused"; readonly error: WireError };

export type Report =
  | { readonly kind: "loaded"; readonly facts: LoadedFacts }
  | { readonly kind: "failed"; readonly error: WireError }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer };
