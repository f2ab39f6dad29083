// What `encoder prepare` makes of exports in each of the usual styles: the hidden states of the references,
// whatever a text is batched with, and nothing that they do not need.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { loadSession, type OnnxSession } from "../../src/encoder/onnx/child/session.js";
import { readWeights } from "../../src/encoder/onnx/child/weights.js";
import { pooledKey } from "../../src/features/pooled.js";
import { decodeModel } from "../../src/prepare/onnx-proto.js";
import { fixturePath, largestDifference, readJson, tinyRows } from "../support/fixtures.js";
import { cutInto, exportPath } from "../support/prepared.js";

const folder = mkdtempSync(join(tmpdir(), "prepared-"));
after(() => rmSync(folder, { recursive: true }));
let made = 0;
const newPath = () => join(folder, `out-${made++}`);

async function open(modelFile: string): Promise<OnnxSession> {
  return await loadSession(modelFile, 1, await readWeights(modelFile));
}

interface Reference {
  readonly ids: readonly number[];
  /** by layer: the mean over the tokens */
  readonly means: readonly (readonly number[])[];
}

/** Of the models that are not the tiny encoder in another file. */
function ownReferences(name: string): Reference[] {
  const rows = readJson<{ input_ids: number[]; hidden_states: number[][][] }[]>(
    join(exportPath(name), "expected.json"),
  );
  return rows.map(({ input_ids: ids, hidden_states: states }) => ({
    ids,
    means: states.map((tokens) =>
      tokens[0]!.map((_, column) => tokens.reduce((sum, row) => sum + row[column]!, 0) / tokens.length),
    ),
  }));
}

function tinyReferences(layers: readonly number[]): Reference[] {
  return tinyRows()
    .slice(0, 12)
    .map(({ input_ids: ids, mean }) => ({
      ids,
      means: Array.from({ length: 9 }, (_, layer) => (layers.includes(layer) ? mean[layer]! : [])),
    }));
}

/** Each text by itself, and all together, against the references. */
async function assertReferences(
  session: OnnxSession,
  references: readonly Reference[],
  layers: readonly number[],
  tolerance: number,
): Promise<void> {
  const wanted = { layers, pooling: ["mean"] } as const;
  const together = await session.run(
    references.map(({ ids }) => ids),
    wanted,
  );
  for (const [index, { ids, means }] of references.entries()) {
    const [alone] = await session.run([ids], wanted);
    for (const layer of layers) {
      const key = pooledKey(layer, "mean");
      assert.ok(largestDifference(alone!.get(key)!, means[layer]!) <= tolerance, `${index} ${key} alone`);
      assert.ok(largestDifference(together[index]!.get(key)!, means[layer]!) <= tolerance, `${index} ${key}`);
    }
  }
}

describe("hidden states are those of the reference within 1e-4, alone and in a batch", () => {
  for (const name of ["optimum-decoder", "bert-encoder"] as const) {
    test(name, async () => {
      const layers = [0, 2, 4];
      const session = await open(await cutInto(newPath(), exportPath(name), { layers }));
      assert.deepEqual([session.layers, session.hiddenSize], [layers, 24]);
      await assertReferences(session, ownReferences(name), layers, 1e-4);
      await session.close();
    });
  }

  for (const [name, source] of [
    ["genai-fp32", exportPath("genai-fp32")],
    ["a graph that gives hidden states already", fixturePath("tiny-encoder")],
  ] as const) {
    test(name, async () => {
      const layers = [0, 3, 5, 8];
      const session = await open(await cutInto(newPath(), source, { layers }));
      await assertReferences(session, tinyReferences(layers), layers, 1e-4);
      await session.close();
    });
  }

  test("genai-int4, against the model before it is cut", async () => {
    const layers = [0, 3, 8];
    const [cut, whole] = [
      await open(await cutInto(newPath(), exportPath("genai-int4"), { layers })),
      await open(await cutInto(newPath(), exportPath("genai-int4"), { layers, keepsAll: true })),
    ];
    const wanted = { layers, pooling: ["mean", "last"] } as const;
    for (const { ids } of tinyReferences(layers)) {
      const [[found], [expected]] = [await cut.run([ids], wanted), await whole.run([ids], wanted)];
      for (const [key, vector] of found!) assert.deepEqual(vector, expected!.get(key)!, key);
    }
    await Promise.all([cut.close(), whole.close()]);
  });
});

test("what hidden states do not need is gone: head, upper blocks, their weights and caches", async () => {
  for (const [name, kept] of [
    ["optimum-decoder", 2],
    ["genai-fp32", 2],
  ] as const) {
    const file = await cutInto(newPath(), exportPath(name), { layers: [2] });
    const { graph } = decodeModel(readFileSync(file));
    const pasts = graph.input.filter(({ name: input }) => input.startsWith("past_key_values."));
    assert.equal(pasts.length, 2 * kept, name);
    assert.ok(!graph.output.some(({ name: output }) => output === "logits"));
    const bytes = (path: string) =>
      readdirSync(path).reduce(
        (sum, each) => sum + (each.startsWith("model.onnx") ? statSync(join(path, each)).size : 0),
        0,
      );
    assert.ok(bytes(join(file, "..")) < 0.7 * bytes(exportPath(name)), name);
  }
});
