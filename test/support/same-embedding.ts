// An encoder whose model gives every token the same embedding, as a damaged or badly exported file does.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fixturePath, tinyRows } from "./fixtures.js";

/** Copies the tiny encoder into `folder`, with every value of its embeddings set to `value`. */
export function writeSameEmbedding(folder: string, value: number): string {
  cpSync(fixturePath("tiny-encoder"), folder, { recursive: true });
  const file = join(folder, "model.onnx");
  const bytes = readFileSync(file);
  const [row] = tinyRows();
  const embedding = Float32Array.from(row!.last[0]!);
  const place = bytes.indexOf(Buffer.from(embedding.buffer));
  if (place < 0) throw new Error("the tiny encoder's embeddings are not in its model file as they are");
  const start = place - row!.input_ids.at(-1)! * embedding.byteLength;
  const tokens = JSON.parse(readFileSync(join(folder, "config.json"), "utf8")).vocab_size as number;
  const values = new Float32Array(tokens * embedding.length).fill(value);
  bytes.set(new Uint8Array(values.buffer), start);
  writeFileSync(file, bytes);
  return folder;
}
