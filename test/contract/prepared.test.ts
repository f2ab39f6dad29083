// `encoder prepare` on exports in each of the usual styles: the hidden states of the references, whatever a
// text is batched with, and refusals that leave nothing.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadSession, type OnnxSession } from "../../src/encoder/onnx/child/session.js";
import { readWeights } from "../../src/encoder/onnx/child/weights.js";
import { pooledKey } from "../../src/features/pooled.js";
import { decodeModel, encodeModel } from "../../src/prepare/onnx-proto.js";
import { fixturePath, largestDifference, readJson, tinyRows } from "../support/fixtures.js";
import { chat, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { cutInto, exportNames, exportPath } from "../support/prepared.js";
import { readCompletion } from "../support/verdict.js";

const folder = mkdtempSync(join(tmpdir(), "prepared-"));
after(() => rmSync(folder, { recursive: true }));
const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));
const run = (...args: string[]) =>
  spawnSync(process.execPath, [main, "encoder", "prepare", ...args], { encoding: "utf8" });
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

describe("the command", () => {
  test("makes an encoder that serves a judge as the model itself does", async () => {
    const out = newPath();
    const { status, stderr, stdout } = run(
      exportPath("genai-fp32"),
      out,
      "--keep-until",
      "3",
      "--source",
      "org/tiny@1",
    );
    assert.equal(status, 0, stderr);
    assert.match(stdout, /hidden states 0, 1, 2, 3 of 0 to 8\n0\.mean: differs from the source by 0\.0e\+0/);
    assert.deepEqual(readdirSync(out), [
      "chat_template.jinja",
      "config.json",
      "model.onnx",
      "model.onnx.data",
      "prepared.json",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);
    const { source, layers } = readJson<{ source: { model: string; sha256: object }; layers: number[] }>(
      join(out, "prepared.json"),
    );
    assert.deepEqual(
      [source.model, Object.keys(source.sha256), layers],
      ["org/tiny@1", ["model.onnx", "model.onnx.data"], [0, 1, 2, 3]],
    );
    const prepared = tinyConfig
      .replaceAll("encoders.tiny", "encoders.made")
      .replace(fixturePath("tiny-encoder"), out);
    const server = await startJudgeServer(
      `${tinyConfig}${prepared.replace("judges.tiny", "judges.made").replace('encoder = "tiny"', 'encoder = "made"').replace('aliases = ["judge", "org/judge"]', "")}`,
    );
    try {
      for (const prompt of ["Hi", "What is 7326 - 147?", "Add the numbers from 1 to 100."]) {
        const p = [];
        for (const model of ["tiny", "made"]) {
          const { verdict } = await readCompletion(
            await server.post("/v1/chat/completions", chat(prompt, { model })),
          );
          p.push(verdict.p_solve);
        }
        assert.ok(Math.abs(p[0]! - p[1]!) <= 1e-4, `${prompt}: ${p}`);
      }
    } finally {
      await server.close();
    }
  });

  test("refuses what it cannot make an encoder of, in one line, and leaves nothing", () => {
    const there = newPath();
    mkdirSync(there);
    const damaged = (change: (path: string) => void, from = "optimum-decoder") => {
      const path = newPath();
      cpSync(exportPath(from), path, { recursive: true });
      change(path);
      return path;
    };
    /** An export whose operators of one kind are of another. */
    const renamed = (from: string, to: string) =>
      damaged((path) => {
        const file = join(path, "model.onnx");
        const model = decodeModel(readFileSync(file));
        for (const node of model.graph.node) if (node.opType === from) node.opType = to;
        writeFileSync(file, encodeModel(model));
      });
    const layers = ["--layers", "2"];
    const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
      [exportPath("optimum-decoder"), ["--layers", "7"], /layer 7: the model has hidden states 0 to 4$/],
      [exportPath("optimum-decoder"), [], /give either --layers or --keep-until/],
      [exportPath("optimum-decoder"), ["--layers", "x"], /found x, wanted layers such as 10,13/],
      [join(folder, "nowhere"), layers, /nowhere cannot be read \(ENOENT\)/],
      [there, layers, /has neither model\.onnx nor onnx\/model\.onnx; give --file/],
      [damaged((path) => rmSync(join(path, "tokenizer.json"))), layers, /has no tokenizer\.json/],
      [damaged((path) => truncateSync(join(path, "model.onnx"), 5000)), layers, /model\.onnx/],
      [
        damaged((path) => writeFileSync(join(path, "model.onnx"), "not a model at all")),
        layers,
        /model\.onnx/,
      ],
      [damaged((path) => rmSync(join(path, "model.onnx.data")), "genai-fp32"), layers, /model\.onnx\.data/],
      [
        damaged((path) => truncateSync(join(path, "model.onnx.data"), 90_000), "genai-fp32"),
        layers,
        /model\.onnx\.data ends before the weight/,
      ],
      [renamed("Softmax", "Scan"), layers, /has Scan: a hybrid model/],
      [renamed("MatMul", "Other"), layers, /no residual stream: .*all ways go through/],
    ];
    for (const [input, more, message] of cases) {
      const out = newPath();
      const { status, stderr, stdout } = run(input, out, ...more);
      assert.deepEqual([status, stdout], [2, ""], `${message}: ${stderr}`);
      assert.match(stderr.trim(), message);
      assert.equal(stderr.trim().split("\n").length, 1);
      assert.deepEqual(
        readdirSync(folder).filter((name) => name.startsWith(".prepare-") || join(folder, name) === out),
        [],
      );
    }
    assert.match(run(exportPath("optimum-decoder"), there, ...layers).stderr, /is there already/);
  });
});

test("every export keeps its bytes: nothing is written into a source's folder", () => {
  for (const name of exportNames)
    assert.ok(!readdirSync(exportPath(name)).some((file) => file.startsWith(".")));
});
