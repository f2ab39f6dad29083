// Pooled features in a file that grows, so that a training goes on. A damaged record counts as none.
import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile, truncate } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { JudgeError } from "../errors.js";
import type { Table } from "./fit/scaler.js";

const keyBytes = 32;
const checksumBytes = 4;

export interface FeatureCache {
  has(text: string): boolean;
  /** Adds texts and their vectors to the file, in one write. */
  add(entries: readonly { readonly text: string; readonly vector: Float32Array }[]): Promise<void>;
  /**
   * The vectors of the texts, a row each.
   * @throws JudgeError `usage` when one of them is not in the file
   */
  read(texts: readonly string[]): Promise<Table>;
}

/**
 * @param vectorSize values of a vector
 * @throws JudgeError `usage` when the file cannot be read or written
 */
export async function openFeatureCache(file: string, vectorSize: number): Promise<FeatureCache> {
  const recordBytes = keyBytes + 4 * vectorSize + checksumBytes;
  const failed = (error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    return new JudgeError("usage", {
      found: `${file} cannot be used (${code})`,
      remedy: "give --cache a writable folder",
      cause: error,
    });
  };
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return Buffer.alloc(0);
    throw failed(error);
  });
  const keys = new Set(findRecords(bytes, recordBytes).keys());
  try {
    await mkdir(dirname(file), { recursive: true });
    const torn = bytes.length % recordBytes;
    if (torn > 0) await truncate(file, bytes.length - torn);
  } catch (error) {
    throw failed(error);
  }
  return {
    has: (text) => keys.has(keyOf(text)),
    async add(entries) {
      const records = Buffer.alloc(entries.length * recordBytes);
      entries.forEach(({ text, vector }, row) => {
        records.write(keyOf(text), row * recordBytes, "hex");
        vector.forEach((value, index) => {
          records.writeFloatLE(value, row * recordBytes + keyBytes + 4 * index);
        });
        const end = (row + 1) * recordBytes - checksumBytes;
        records.writeUInt32LE(crc32(records.subarray(row * recordBytes, end)), end);
      });
      await appendFile(file, records).catch((error: unknown) => {
        throw failed(error);
      });
      for (const { text } of entries) keys.add(keyOf(text));
    },
    async read(texts) {
      const data = new Float32Array(texts.length * vectorSize);
      const content = await readFile(file).catch((error: unknown) => {
        throw failed(error);
      });
      const places = findRecords(content, recordBytes);
      texts.forEach((text, row) => {
        const place = places.get(keyOf(text));
        if (place === undefined)
          throw new JudgeError("usage", {
            found: `${file} has lost records`,
            remedy: "remove the file, and run again",
          });
        for (let index = 0; index < vectorSize; index++)
          data[row * vectorSize + index] = content.readFloatLE(place + keyBytes + 4 * index);
      });
      return { rows: texts.length, columns: vectorSize, data };
    },
  };
}

/** Where each record that is as it was written starts, by key (hex). */
function findRecords(bytes: Buffer, recordBytes: number): Map<string, number> {
  const places = new Map<string, number>();
  for (let place = 0; place + recordBytes <= bytes.length; place += recordBytes) {
    const end = place + recordBytes - checksumBytes;
    if (crc32(bytes.subarray(place, end)) !== bytes.readUInt32LE(end)) continue;
    places.set(bytes.toString("hex", place, place + keyBytes), place);
  }
  return places;
}

function keyOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
