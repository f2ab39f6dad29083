// The embedded judge's head behind a block for hidden states of another size, so that a server has real work
// with them. Its answers mean nothing.
import { createHash } from "node:crypto";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { writeRouterJson2 } from "../../src/checkpoint/router-json-write.js";
import { saveFiles } from "../../src/checkpoint/save.js";
import type { PoolingMode } from "../../src/features/pooling.js";
import { packagePath } from "../support/fixtures.js";

export const layer = 13;

/** Writes the checkpoint into `folder`. */
export async function writeCheckpoint(
  folder: string,
  hiddenSize: number,
  pooling: PoolingMode,
): Promise<void> {
  const original = await loadCheckpoint(packagePath("checkpoints/smollm2-135m"));
  const block = original.head.blocks[0]!;
  const waves = (length: number) =>
    Float32Array.from({ length }, (_, index) => Math.sin(index) / Math.sqrt(hiddenSize));
  const widened = {
    ...block,
    layers: [layer],
    pooling,
    hiddenSize,
    scalerMean: waves(hiddenSize),
    scalerScale: new Float32Array(hiddenSize).fill(1),
    pcaMean: waves(hiddenSize),
    pcaComponents: waves(block.pcaSize * hiddenSize),
  };
  const content = { ...original, encoderFiles: {}, head: { ...original.head, blocks: [widened] } };
  const files = writeRouterJson2(content, (bytes) => createHash("sha256").update(bytes).digest("hex"));
  await saveFiles(folder, { ...files });
}
