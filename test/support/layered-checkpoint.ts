// A checkpoint for the tiny encoder that reads other layers than the fixture, with a selftest of PyTorch's
// values.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { type PooledKey, type PooledVectors, pooledKey } from "../../src/features/pooled.js";
import { probabilities } from "../../src/head/head.js";
import type { HeadWeights } from "../../src/head/weights.js";
import { fixturePath, type TinyRow, tinyRows } from "./fixtures.js";

const source = fixturePath("checkpoints/router-json-v1");

/** The head of the fixture on these four layers. */
export async function layeredHead(layers: readonly number[]): Promise<HeadWeights> {
  const { head } = await loadCheckpoint(source);
  return { ...head, blocks: head.blocks.map((block) => ({ ...block, layers })) };
}

/** PyTorch's mean-pooled hidden states of a prompt; `rows[i]` has the name `names[i]`. */
export function pooledAs(
  row: TinyRow,
  rows: readonly number[],
  names: readonly number[] = rows,
): PooledVectors {
  return new Map(
    rows.map((layer, place): [PooledKey, Float32Array] => [
      pooledKey(names[place]!, "mean"),
      Float32Array.from(row.mean[layer]!),
    ]),
  );
}

export function referenceOf(head: HeadWeights, row: TinyRow): Record<string, number> {
  const computed = probabilities(head, pooledAs(row, head.blocks[0]!.layers));
  return Object.fromEntries(head.outputNames.map((name, index) => [name, computed[index]!]));
}

/** @returns the path of the checkpoint that was written into `folder` */
export async function writeLayeredCheckpoint(
  folder: string,
  layers: readonly number[],
  tolerance = 1e-4,
): Promise<string> {
  const path = join(folder, "layered");
  cpSync(source, path, { recursive: true });
  const router = JSON.parse(readFileSync(join(path, "router.json"), "utf8")) as object;
  writeFileSync(join(path, "router.json"), JSON.stringify({ ...router, extraction_layer_ids: layers }));
  const head = await layeredHead(layers);
  const selftest = {
    format_version: 1,
    reference: "eager PyTorch",
    tolerance,
    files: {},
    prompts: tinyRows().map((row) => ({
      prompt: row.prompt,
      input_ids: row.input_ids,
      probabilities: referenceOf(head, row),
    })),
  };
  writeFileSync(join(path, "selftest.json"), JSON.stringify(selftest));
  return path;
}
