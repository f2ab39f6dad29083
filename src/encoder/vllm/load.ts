// What is known of a vLLM encoder from its folder, its settings and the server that was first.
import type { EncoderFacts } from "../encoder.js";
import { hashEncoderFolder, hashOf, readTokenizerFolder } from "../folder.js";
import { tokenizerFacts } from "../tokenizer/facts.js";
import { loadTokenizer } from "../tokenizer/load.js";
import { orderWarning } from "./captured-order.js";
import type { VllmEncoderParts } from "./parts.js";
import type { Reference } from "./proofs.js";

export type LoadedFolder = Awaited<ReturnType<typeof loadFolder>>;

/** @throws JudgeError `encoder` naming the file that is missing or wrong */
export async function loadFolder(path: string) {
  const [folder, files] = await Promise.all([readTokenizerFolder(path), hashEncoderFolder(path)]);
  return { folder, files, tokenizer: await loadTokenizer(folder.tokenizer) };
}

/** The hidden-state indices of what the servers capture, in their order. */
export function capturedIndices({
  capturedLayers,
  layerOffset,
}: Pick<VllmEncoderParts, "capturedLayers" | "layerOffset">): number[] {
  return capturedLayers.map((layer) => layer + layerOffset);
}

export function factsOf(
  parts: VllmEncoderParts,
  { folder, files, tokenizer }: LoadedFolder,
  { states, contextLength }: Reference,
): EncoderFacts {
  const captured = capturedIndices(parts);
  const layerDoubt = orderWarning(parts.capturedLayers);
  // The last of Transformers' hidden states is normalised; the server captures it before the norm.
  const isNormalised = (layer: number) => layer < (folder.blockCount ?? Number.POSITIVE_INFINITY);
  const settings = ["vllm", parts.servedModel, captured.join(",")].map((setting) => `${setting}\n`);
  return {
    hiddenSize: states.hiddenSize,
    layers: captured.filter(isNormalised).sort((a, b) => a - b),
    unnormalisedLayers: captured.filter((layer) => !isNormalised(layer)),
    ...(layerDoubt && { layerDoubt }),
    // one place is the generated token's
    maxTokens: Math.min(folder.maxTokens, contextLength ?? Number.POSITIVE_INFINITY) - 1,
    ...tokenizerFacts(folder.tokenizer, tokenizer),
    device: "vllm",
    threads: 1,
    processes: 1,
    files,
    hash: hashOf(files, settings),
  };
}
