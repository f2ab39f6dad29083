// The vLLM adapter: the contract against a server that runs the tiny encoder, the hidden states that a real
// server recorded, and the encodings of the ONNX adapter.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Encoding } from "../../src/encoder/encoder.js";
import type { View } from "../../src/encoder/view.js";
import { pooledKey } from "../../src/features/pooled.js";
import { encoderContract } from "../support/encoder-contract.js";
import { fixturePath, largestDifference, readJson, tinyRows } from "../support/fixtures.js";
import { writePoisonable } from "../support/poisonable.js";
import { vllmEncoder, vllmFolders } from "../support/vllm/encoder.js";
import { readBytes } from "../support/vllm/files.js";
import { startVllmServer, type VllmServer } from "../support/vllm/server.js";

const chat: View = { template: "chat", maxTokens: 500, truncation: "middle" };
/** out of order: what a layer is, is told by its place in the configuration alone */
const layers = [4, 0, 7, 1];
const folders = vllmFolders();
let server: VllmServer;

before(async () => {
  server = await startVllmServer({ ...folders, layers });
});
after(async () => {
  await server.close();
  folders.remove();
});

const create = (changes = {}) => vllmEncoder({ url: server.url, root: folders.root, layers, ...changes });
encoderContract({
  name: "vllm",
  view: chat,
  create,
  poison: {
    create: () => create({ folder: writePoisonable(join(folders.outside, "poisonable")) }),
    text: "bad <poison>",
  },
});

describe("features equal the reference", () => {
  for (const [dtype, tolerance] of [
    ["F32", 1e-4],
    ["BF16", 2e-2],
    ["F16", 1e-3],
  ] as const) {
    test(`${dtype}, of every row, layer and mode: within ${tolerance} of the vector's size`, async (context) => {
      const encoder = create();
      server.dtype = dtype;
      try {
        await encoder.start();
        const rows = tinyRows();
        const options = { view: chat, layers: [0, 1, 4, 7], pooling: ["mean", "last"] } as const;
        const { encodings } = await encoder.encode(
          rows.map((row) => row.prompt),
          options,
        );
        let largest = 0;
        for (const [index, row] of rows.entries()) {
          const { pooled, tokenCount } = encodings[index] as Encoding;
          assert.equal(tokenCount, row.input_ids.length);
          for (const [key, vector] of pooled) {
            const [layer, mode] = key.split(".") as [string, "mean" | "last"];
            largest = Math.max(largest, relativeError(vector, row[mode][layer]!));
          }
        }
        context.diagnostic(`largest difference: ${largest.toExponential(2)}`);
        assert.ok(largest <= tolerance, `differs by ${largest}`);
        // half precision is really read as such
        assert.ok(dtype === "F32" || largest > 1e-5, `differs by ${largest} only`);
      } finally {
        server.dtype = "F32";
        await encoder.close();
      }
    });
  }
});

interface Recorded {
  readonly calls: readonly { readonly prompt: string; readonly file: string }[];
}

for (const [name, measure, tolerance] of [
  ["float32", largestDifference, 1e-4],
  // the whole model ran in bfloat16, whose steps are 2^-8 of a value: the error is relative to the vector,
  // and reaches 0.15 in single values of vectors whose norm is 23
  ["bfloat16", relativeError, 2e-2],
] as const) {
  test(`recorded files of a real server, ${name}: below the last block as the reference within ${tolerance}`, async (context) => {
    const { calls } = readJson<Recorded>(fixturePath(`vllm/${name}.json`));
    assert.ok(calls.length >= 2);
    let largest = 0;
    for (const { prompt, file } of calls) {
      const row = tinyRows().find((candidate) => candidate.prompt === prompt)!;
      const bytes = new Uint8Array(readFileSync(fixturePath(`vllm/${file}`)));
      const expected = { ids: row.input_ids, captured: [0, 1, 4, 8], hiddenSize: null };
      const wanted = { layers: [0, 1, 4, 8], pooling: ["mean", "last"] } as const;
      const { hiddenSize, pooled } = await readBytes(bytes, expected, wanted);
      assert.equal(hiddenSize, 24);
      assert.equal(pooled.size, 8);
      for (const layer of [0, 1, 4]) {
        for (const mode of ["mean", "last"] as const) {
          largest = Math.max(largest, measure(pooled.get(pooledKey(layer, mode))!, row[mode][layer]!));
        }
      }
      // the last block's is not normalised yet: it is not the last hidden state of Transformers
      assert.ok(relativeError(pooled.get(pooledKey(8, "last"))!, row.last[8]!) > 0.1);
    }
    context.diagnostic(`largest difference: ${largest.toExponential(2)}`);
    assert.ok(largest <= tolerance, `differs by ${largest}`);
  });
}

/** Euclidean distance over the Euclidean norm of `wanted`. */
function relativeError(found: Float32Array, wanted: readonly number[]): number {
  assert.equal(found.length, wanted.length);
  return Math.hypot(...wanted.map((value, index) => found[index]! - value)) / Math.hypot(...wanted);
}
