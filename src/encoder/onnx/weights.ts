// The weights that a model keeps in other files, read into memory: onnxruntime maps such files by itself, so that a write into
// one would change the answers of a model that is in use.
import { constants as bufferConstants } from "node:buffer";
import { createHash } from "node:crypto";
import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { JudgeError } from "../../errors.js";
import { externalLocations } from "../external-data.js";

/** A whole file. */
export interface Weights {
  /** as the model names it */
  readonly path: string;
  readonly data: Uint8Array;
  /** SHA-256 (hex) of `data` */
  readonly hash: string;
}

const chunkBytes = 1 << 22;

/** @throws JudgeError `encoder` naming the file that is missing, or cannot be read */
export async function readWeights(modelFile: string): Promise<Weights[]> {
  const weights: Weights[] = [];
  for (const path of await externalLocations(modelFile)) {
    weights.push({ path, ...(await readWhole(join(dirname(modelFile), path), path)) });
  }
  return weights;
}

async function readWhole(file: string, name: string): Promise<Omit<Weights, "path">> {
  let handle: FileHandle | undefined;
  try {
    const facts = await stat(file);
    const { size } = facts;
    if (!facts.isFile()) throw refusal(name, "is not a regular file");
    if (size > bufferConstants.MAX_LENGTH)
      throw refusal(name, `has ${size} bytes, and ${bufferConstants.MAX_LENGTH} can be read of one file`);
    handle = await open(file);
    return await readBytes(handle, size, name);
  } catch (error) {
    if (error instanceof JudgeError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw refusal(name, code === "ENOENT" ? "is missing" : `cannot be read (${code})`, error);
  } finally {
    await handle?.close();
  }
}

async function readBytes(handle: FileHandle, size: number, name: string): Promise<Omit<Weights, "path">> {
  const data = Buffer.allocUnsafeSlow(size);
  const hash = createHash("sha256");
  for (let at = 0; at < size; ) {
    const { bytesRead } = await handle.read(data, at, Math.min(chunkBytes, size - at), at);
    if (bytesRead === 0) throw refusal(name, "became shorter while it was read");
    hash.update(data.subarray(at, at + bytesRead));
    at += bytesRead;
  }
  return { data, hash: hash.digest("hex") };
}

function refusal(name: string, finding: string, cause?: unknown): JudgeError {
  return new JudgeError(
    "encoder",
    `${name}, in which model.onnx keeps weights, ${finding}; put the encoder's original file beside model.onnx`,
    { cause },
  );
}
