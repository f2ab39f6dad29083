// Texts → a table of pooled features for training: from the cache where they are known, from the encoder otherwise.
import type { Encoder, View } from "../encoder/encoder.js";
import { JudgeError } from "../errors.js";
import { pooledKey } from "../features/pooled.js";
import type { PoolingMode } from "../features/pooling.js";
import type { FeatureCache } from "../train/feature-cache.js";
import type { Table } from "../train/scaler.js";
import { progressBar } from "./score-rows.js";
import type { Terminal } from "./terminal.js";

export interface WantedFeatures {
  readonly view: View;
  readonly layer: number;
  readonly pooling: PoolingMode;
}

/** Texts that are encoded, and written to the cache, together. */
const batchSize = 16;

/** @throws JudgeError `usage` for a text that the encoder cannot encode; what was encoded before stays in the cache */
export async function encodeRows(
  encoder: Encoder,
  texts: readonly string[],
  { view, layer, pooling }: WantedFeatures,
  { cache, terminal }: { cache: FeatureCache; terminal: Terminal },
): Promise<Table> {
  const missing = texts.filter((text) => cache.find(text) === undefined);
  const bar = progressBar("encoding", missing.length, terminal);
  try {
    for (let start = 0; start < missing.length; start += batchSize) {
      const batch = missing.slice(start, start + batchSize);
      const { encodings } = await encoder.encode(batch, { view, layers: [layer], pooling: [pooling] });
      const entries = encodings.map((encoding, index) => {
        if (encoding instanceof JudgeError) {
          const row = texts.indexOf(batch[index]!) + 1;
          throw new JudgeError("usage", `row ${row} cannot be encoded: ${encoding.message}`);
        }
        return { text: batch[index]!, vector: encoding.pooled.get(pooledKey(layer, pooling))! };
      });
      await cache.add(entries);
      bar?.increment(batch.length);
    }
  } finally {
    bar?.stop();
  }
  const columns = encoder.facts.hiddenSize;
  const data = new Float32Array(texts.length * columns);
  texts.forEach((text, row) => {
    data.set(cache.find(text)!, row * columns);
  });
  return { rows: texts.length, columns, data };
}
