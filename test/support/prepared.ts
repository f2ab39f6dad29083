// Encoders prepared from the exports of test/fixtures/exports, in a folder of a test's own.
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type CutOptions, cutGraph } from "../../src/prepare/cut.js";
import { readModelFolder } from "../../src/prepare/model-folder.js";
import { modelParts } from "../../src/prepare/model-parts.js";
import { fixturePath } from "./fixtures.js";

/** of the exports that lie in test/fixtures */
export const exportNames = ["optimum-decoder", "bert-encoder", "genai-fp32", "genai-int4"] as const;

export function exportPath(name: string): string {
  return fixturePath(`exports/${name}`);
}

/** Writes the model's files alone. @returns the path of model.onnx */
export async function cutInto(
  folder: string,
  source: string,
  options: Omit<CutOptions, "sizes">,
): Promise<string> {
  const { model, path, sizes } = await readModelFolder(source);
  const { graph } = cutGraph(model, { ...options, sizes });
  mkdirSync(folder, { recursive: true });
  for await (const { name, bytes } of modelParts({ ...model, graph }, path))
    appendFileSync(join(folder, name), bytes);
  return join(folder, "model.onnx");
}
