// Pooled features of texts in a file that grows, so that a training that was cut short goes on where it was. One file for
// each encoder, view, layer and pooling mode; a record is the text's SHA-256 and its vector, and a half-written last
// record is not read.
import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile, truncate } from "node:fs/promises";
import { dirname } from "node:path";
import { JudgeError } from "../errors.js";

const keyBytes = 32;

export interface FeatureCache {
  /** texts that are in the file */
  readonly size: number;
  find(text: string): Float32Array | undefined;
  /** Adds texts and their vectors to the file, in one write. */
  add(entries: readonly { readonly text: string; readonly vector: Float32Array }[]): Promise<void>;
}

/**
 * @param vectorSize values of a vector
 * @throws JudgeError `usage` when the file cannot be read or written
 */
export async function openFeatureCache(file: string, vectorSize: number): Promise<FeatureCache> {
  const recordBytes = keyBytes + 4 * vectorSize;
  const vectors = new Map<string, Float32Array>();
  const failed = (error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    return new JudgeError("usage", `${file} cannot be used (${code}); give --cache a writable folder`, {
      cause: error,
    });
  };
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return Buffer.alloc(0);
    throw failed(error);
  });
  const whole = bytes.length - (bytes.length % recordBytes);
  for (let place = 0; place < whole; place += recordBytes) {
    const key = bytes.toString("hex", place, place + keyBytes);
    const vector = new Float32Array(vectorSize);
    for (let index = 0; index < vectorSize; index++)
      vector[index] = bytes.readFloatLE(place + keyBytes + 4 * index);
    vectors.set(key, vector);
  }
  try {
    await mkdir(dirname(file), { recursive: true });
    if (whole < bytes.length) await truncate(file, whole);
  } catch (error) {
    throw failed(error);
  }
  return {
    get size() {
      return vectors.size;
    },
    find: (text) => vectors.get(keyOf(text)),
    async add(entries) {
      const records = Buffer.alloc(entries.length * recordBytes);
      entries.forEach(({ text, vector }, row) => {
        const key = keyOf(text);
        records.write(key, row * recordBytes, "hex");
        vector.forEach((value, index) => {
          records.writeFloatLE(value, row * recordBytes + keyBytes + 4 * index);
        });
        vectors.set(key, vector);
      });
      await appendFile(file, records).catch((error: unknown) => {
        throw failed(error);
      });
    },
  };
}

function keyOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
