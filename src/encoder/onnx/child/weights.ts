// Weights in other files, read into memory: a mapped file that is written to would change answers.
import { constants as bufferConstants } from "node:buffer";
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { JudgeError } from "../../../errors.js";
import { openRegularFile } from "../../../input/regular-file.js";
import { externalLocations } from "../../external-data.js";
import { fileOf } from "../../folder.js";

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
    weights.push({ path, ...(await readWhole(dirname(modelFile), path)) });
  }
  return weights;
}

async function readWhole(folder: string, name: string): Promise<Omit<Weights, "path">> {
  const handle = await openRegularFile(fileOf(folder, name, bufferConstants.MAX_LENGTH));
  try {
    const { size } = await handle.stat();
    const data = Buffer.allocUnsafeSlow(size);
    const hash = createHash("sha256");
    for (let at = 0; at < size; ) {
      const { bytesRead } = await handle.read(data, at, Math.min(chunkBytes, size - at), at);
      if (bytesRead === 0)
        throw new JudgeError("encoder", {
          found: `${name} became shorter while it was read`,
          remedy: "try again when it is whole",
        });
      hash.update(data.subarray(at, at + bytesRead));
      at += bytesRead;
    }
    return { data, hash: hash.digest("hex") };
  } finally {
    await handle.close();
  }
}
