// `encoder prepare` as a user meets it: a folder that serves a judge, and refusals that leave nothing.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { decodeModel, encodeModel } from "../../src/prepare/onnx-proto.js";
import { fixturePath, readJson } from "../support/fixtures.js";
import { chat, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { exportNames, exportPath } from "../support/prepared.js";
import { readCompletion } from "../support/verdict.js";

const folder = mkdtempSync(join(tmpdir(), "prepare-"));
after(() => rmSync(folder, { recursive: true }));
const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));
const run = (...args: string[]) =>
  spawnSync(process.execPath, [main, "encoder", "prepare", ...args], { encoding: "utf8" });
let made = 0;
const newPath = () => join(folder, `out-${made++}`);

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
