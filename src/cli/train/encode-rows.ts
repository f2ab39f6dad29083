// Texts → pooled features for training. One pass gives every layer and mode; files keep what is known.
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Encoder } from "../../encoder/encoder.js";
import type { View } from "../../encoder/view.js";
import { JudgeError } from "../../errors.js";
import { type PooledKey, pooledKey } from "../../features/pooled.js";
import type { PoolingMode } from "../../features/pooling.js";
import { type FeatureCache, openFeatureCache } from "../../train/feature-cache.js";
import { inBulk } from "../in-bulk.js";
import { progressBar } from "../score-rows.js";
import type { Terminal } from "../terminal.js";

export interface WantedFeatures {
  readonly view: View;
  readonly layers: readonly number[];
  readonly pooling: readonly PoolingMode[];
}

/**
 * A file of features for each layer and pooling mode, with all of the texts.
 * @param folder where the files are
 * @throws JudgeError `usage` for a text that the encoder cannot encode; what was encoded before stays in the
 *   files
 */
export async function encodeRows(
  encoder: Encoder,
  texts: readonly string[],
  wanted: WantedFeatures,
  { folder, terminal }: { folder: string; terminal: Terminal },
): Promise<ReadonlyMap<PooledKey, FeatureCache>> {
  const caches = await openCaches(encoder, wanted, folder);
  const files = [...caches.values()];
  const missing = [...new Set(texts)].filter((text) => files.some((file) => !file.has(text)));
  const bar = progressBar("encoding", missing.length, terminal);
  try {
    await inBulk(missing, encoder.facts.processes, async (batch) => {
      const { encodings } = await encoder.encode(batch, wanted);
      const encoded = encodings.map((encoding, index) => {
        const text = batch[index]!;
        if (!(encoding instanceof JudgeError) && !encoding.unreadable)
          return { text, pooled: encoding.pooled };
        const finding =
          encoding instanceof JudgeError
            ? encoding.message
            : "the encoder can read nothing of the text; leave the row out";
        throw new JudgeError("usage", {
          found: `row ${texts.indexOf(text) + 1} cannot be encoded: ${finding}`,
        });
      });
      for (const [key, file] of caches) {
        const fresh = encoded.filter(({ text }) => !file.has(text));
        await file.add(fresh.map(({ text, pooled }) => ({ text, vector: pooled.get(key)! })));
      }
      bar?.increment(batch.length);
    });
  } finally {
    bar?.stop();
  }
  return caches;
}

/** Raised when feature-cache.ts or the tokenizer changes what it gives: old files are not read then. */
const recordForm = 2;

async function openCaches(
  { facts, scope }: Encoder,
  { view, layers, pooling }: WantedFeatures,
  folder: string,
): Promise<Map<PooledKey, FeatureCache>> {
  const caches = new Map<PooledKey, FeatureCache>();
  for (const layer of layers) {
    for (const mode of pooling) {
      const name = createHash("sha256")
        // features of another runtime, or of a server with other settings, make another head
        .update(JSON.stringify([recordForm, view, layer, mode, facts.runtime ?? scope]))
        .digest("hex");
      const file = join(folder, `${facts.hash}-${name.slice(0, 16)}.features`);
      caches.set(pooledKey(layer, mode), await openFeatureCache(file, facts.hiddenSize));
    }
  }
  return caches;
}
