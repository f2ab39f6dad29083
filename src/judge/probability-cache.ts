// What judges found out about texts, bounded by bytes. A text is kept as its SHA-256 only.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";

/** What a head made of one text. */
export interface Remembered {
  /** per output, before calibration */
  readonly raw: Float64Array;
  readonly tokens: number;
  readonly truncated: boolean;
  /** the encoder could read nothing of the text, and the probabilities mean nothing */
  readonly unreadable?: true | undefined;
}

export interface ProbabilityCache {
  /** @param scope all that the result depends on beside the text: checkpoint, encoder, view */
  find(scope: string, text: string): Remembered | undefined;
  keep(scope: string, text: string, found: Remembered): void;
}

/** Of resident memory, key and links included, as measured over many entries of two outputs. */
const entryBytes = 950;

/** @param maxBytes 0: nothing is kept */
export function createProbabilityCache(maxBytes: number): ProbabilityCache {
  if (maxBytes < entryBytes) return { find: () => undefined, keep() {} };
  const cache = new LRUCache<string, Remembered>({
    maxSize: maxBytes,
    sizeCalculation: ({ raw }) => entryBytes + raw.byteLength,
  });
  return {
    find: (scope, text) => cache.get(keyOf(scope, text)),
    keep(scope, text, found) {
      cache.set(keyOf(scope, text), found);
    },
  };
}

function keyOf(scope: string, text: string): string {
  return hash("sha256", `${scope}\0${text}`, "base64");
}
