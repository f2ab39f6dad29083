// A run's results between the processes: all vectors in one array, which is copied once.
import { JudgeError } from "../../errors.js";
import type { PooledKey } from "../../features/pooled.js";
import type { Encoding } from "../encoder.js";
import { fromWire, toWire, type WireError } from "./wire-error.js";

export interface PackedEncodings {
  /** of every text that was encoded */
  readonly keys: readonly PooledKey[];
  /** [encoded texts, keys, hiddenSize] */
  readonly vectors: Float32Array;
  readonly texts: readonly (PackedText | WireError)[];
}

type PackedText = Omit<Encoding, "pooled">;

/** @param encodings of one run: all with vectors of the same keys and size */
export function packEncodings(encodings: readonly (Encoding | JudgeError)[]): PackedEncodings {
  const sound = encodings.flatMap((entry) => (entry instanceof JudgeError ? [] : [entry]));
  const first = sound[0]?.pooled;
  const keys = [...(first?.keys() ?? [])];
  const size = first?.get(keys[0]!)?.length ?? 0;
  const vectors = new Float32Array(sound.length * keys.length * size);
  sound.forEach(({ pooled }, place) => {
    keys.forEach((key, index) => {
      vectors.set(pooled.get(key)!, (place * keys.length + index) * size);
    });
  });
  const texts = encodings.map((entry) => {
    if (entry instanceof JudgeError) return toWire(entry);
    const { pooled: _, ...found } = entry;
    return found;
  });
  return { keys, vectors, texts };
}

/** The encodings as they were. */
export function unpackEncodings({ keys, vectors, texts }: PackedEncodings): (Encoding | JudgeError)[] {
  const encoded = texts.filter((entry) => !("code" in entry)).length;
  const size = vectors.length / (encoded * keys.length);
  let place = 0;
  return texts.map((entry) => {
    if ("code" in entry) return fromWire<Encoding>(entry);
    const start = place * keys.length * size;
    place++;
    const vectorOf = (index: number) => vectors.slice(start + index * size, start + (index + 1) * size);
    return { ...entry, pooled: new Map(keys.map((key, index) => [key, vectorOf(index)])) };
  });
}
