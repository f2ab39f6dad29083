// `train` as a real process, on the tiny encoder: what it writes is served, is the same twice, and goes on
// after a cut.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { EvaluationReport } from "../../src/evaluate/evaluate.js";
import { fixturePath, packagePath, readJson } from "../support/fixtures.js";
import { startJudgeServer } from "../support/judge-server.js";

const folder = mkdtempSync(join(tmpdir(), "judge-train-"));
after(() => rmSync(folder, { recursive: true }));
const path = (name: string) => join(folder, name);
const main = packagePath("dist/src/main.js");
const run = (...args: string[]) => spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });

/** Solved where the task is an addition: the tiny encoder can tell. */
const rows = Array.from({ length: 240 }, (_, index) => ({
  id: `r${index}`,
  prompt: index % 2 === 0 ? `Add ${index} and ${index * 7}.` : `Explain the history of town number ${index}.`,
  split: index < 180 ? "train" : "test",
  labels: { weak: index % 2 === 0 ? index % 20 !== 0 : index % 15 === 1, strong: index % 9 !== 0 },
}));
const labels = path("labels.jsonl");
writeFileSync(labels, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
const encoder = fixturePath("tiny-encoder");
const args = (out: string, cache: string, more: readonly string[] = []) => [
  "train",
  "--labels",
  labels,
  "--encoder",
  encoder,
  "--layer",
  "3",
  "--pca",
  "8",
  "--out",
  path(out),
  "--cache",
  path(cache),
  ...more,
];

describe("train", () => {
  test("writes a judge that is served at once and beats words alone where words do not tell", async () => {
    const { status, stderr, stdout } = run(...args("judge", "cache"));
    assert.equal(status, 0, stderr);
    assert.match(stdout, /2 output\(s\) from 180 rows, 5 of 10 members kept/);
    const few = "weak has 180 labelled rows; below 200 a head mostly learns noise";
    assert.ok(stderr.includes(few));
    const { problems } = JSON.parse(run("inspect", path("judge"), "--json").stdout);
    assert.ok(problems.includes(few), "the checkpoint says it, too");
    const server = await startJudgeServer(
      `[encoders.tiny]\ntype = "onnx"\npath = "${encoder}"\n[judges.mine]\ncheckpoint = "${path("judge")}"\nencoder = "tiny"\noutput = "weak"\n`,
    );
    try {
      const test = rows.slice(180);
      const response = await server.post("/v1/score", { prompts: test.map(({ prompt }) => prompt) });
      const { results } = (await response.json()) as {
        results: { p_solve: number; raw: { weak: number } }[];
      };
      const right = results.filter(({ p_solve: p }, index) => p > 0.5 === (index % 2 === 0)).length;
      assert.ok(right >= 57, `${right} of 60`);
      assert.ok(
        results.some(({ p_solve: p, raw }) => p !== raw.weak),
        "it is calibrated",
      );
    } finally {
      await server.close();
    }
  });

  test("gives the same bytes from the same labels, whatever the threads, with and without a cache", () => {
    for (const [out, cache, threads] of [
      ["again", "cache", "1"],
      ["fresh", "other-cache", "2"],
    ] as const) {
      assert.equal(run(...args(out, cache, ["--threads", threads])).status, 0);
      for (const name of readdirSync(path("judge"))) {
        assert.deepEqual(readFileSync(join(path(out), name)), readFileSync(join(path("judge"), name)), name);
      }
    }
  });

  test("killed while it encodes, it goes on with what it had", async () => {
    const child = spawn(process.execPath, [main, ...args("cut", "cut-cache")], { stdio: "ignore" });
    const size = () => {
      const [name] = readdirSync(folder).includes("cut-cache") ? readdirSync(path("cut-cache")) : [];
      return name === undefined ? 0 : statSync(join(path("cut-cache"), name)).size;
    };
    while (size() === 0 && child.exitCode === null) await sleep(2);
    child.kill("SIGKILL");
    await once(child, "exit");
    const had = size();
    assert.ok(had > 0);
    assert.equal(run(...args("cut", "cut-cache", ["--no-calibration"])).status, 0);
    assert.ok(size() >= had);
    assert.deepEqual(
      readFileSync(join(path("cut-cache"), readdirSync(path("cut-cache"))[0]!)).length,
      180 * (32 + 4 * 24 + 4),
    );
  });

  test("with --selftest, no prompt of the labels is in the checkpoint, and it passes", () => {
    const prompts = path("prompts.txt");
    const given = [rows[0]!.prompt, "Add two and two.", rows[200]!.prompt, "Name a town."];
    writeFileSync(prompts, given.map((prompt) => `${prompt}\n`).join(""));
    const { status, stderr } = run(...args("private", "cache", ["--selftest", prompts]));
    assert.equal(status, 0, stderr);
    for (const name of ["router.json", "router.safetensors"])
      assert.deepEqual(readFileSync(join(path("private"), name)), readFileSync(join(path("judge"), name)));
    const { prompts: written } = readJson<{ prompts: { prompt: string }[] }>(
      join(path("private"), "selftest.json"),
    );
    assert.deepEqual(
      written.map(({ prompt }) => prompt),
      ["Name a town.", "Add two and two."],
    );
    const { stdout } = run("verify", path("private"), "--encoder", encoder);
    assert.match(stdout, /^2 rows agree within 0\.0001\n/);
  });

  test("keeps the costs that it is given, and evaluate draws the pool's curve with them", () => {
    const costs = path("costs.toml");
    writeFileSync(costs, "weak = 1\nstrong = 10\n");
    assert.equal(run(...args("pool", "cache", ["--costs", costs, "--no-calibration"])).status, 0);
    const { outputs } = JSON.parse(run("inspect", path("pool"), "--json").stdout);
    assert.deepEqual(
      outputs.map(({ name, cost }: { name: string; cost: number }) => [name, cost]),
      [
        ["weak", 1],
        ["strong", 10],
      ],
    );
    const { stdout } = run(
      ...["evaluate", "--labels", labels, "--checkpoint", path("pool"), "--encoder", encoder, "--json"],
    );
    const [pool] = (JSON.parse(stdout) as EvaluationReport).pools;
    assert.equal(pool!.curve.length, 21);
    assert.equal(pool!.curve.at(-1)!.meanCost!.value, 1);
    const first = pool!.curve[0]!;
    assert.ok(first.meanCost!.value! > 1 && first.meanCost!.value! <= 10);
  });

  test("says that it replaces a checkpoint, and leaves it whole until then", () => {
    const before = readFileSync(join(path("judge"), "router.json"));
    const note = `${path("judge")} holds a checkpoint, which is replaced at the end of this training\n`;
    const failed = run(...args("judge", "cache", ["--pca", "30"]));
    assert.equal(failed.status, 2);
    assert.ok(failed.stderr.startsWith(note), failed.stderr);
    assert.deepEqual(readFileSync(join(path("judge"), "router.json")), before);
    assert.ok(!run(...args("new", "cache")).stderr.includes("replaced"));
  });

  test("refuses a place that the judge cannot be saved at, before anything is encoded", () => {
    mkdirSync(path("site"));
    writeFileSync(path("site/notice.txt"), "of somebody else");
    for (const [out, message] of [
      [
        path("site"),
        /site has a notice\.txt that is not of a checkpoint, and it would be lost; give another folder/,
      ],
      [
        join(labels, "judge"),
        /labels\.jsonl\/judge cannot be written \(ENOTDIR\); give the path of a writable folder/,
      ],
      [path("judge.PT"), /--out \S*judge\.PT: a judge is a folder; leave \.pt out of its name/],
    ] as const) {
      const { status, stderr, stdout } = run(...args("judge", "none-cache", ["--out", out]));
      assert.deepEqual([status, stdout], [2, ""], stderr);
      assert.match(stderr, message);
      assert.ok(!readdirSync(folder).includes("none-cache"));
    }
  });

  test("refuses what nothing can be learned from, in one line, and writes nothing", () => {
    const oneClass = path("one-class.jsonl");
    writeFileSync(
      oneClass,
      rows.map(({ id, prompt }) => `${JSON.stringify({ id, prompt, labels: { weak: true } })}\n`).join(""),
    );
    const few = path("few.json");
    writeFileSync(few, '{"weak": 1}');
    const cases: readonly (readonly [change: readonly string[], message: RegExp])[] = [
      [["--labels", oneClass], /weak has labels of one class only/],
      [["--layer", "40"], /--layer 40: encoder \S*tiny-encoder gives 0, 1, 2/],
      [["--pca", "500"], /180 rows are too few for --pca 500/],
      [["--pca", "144"], /180 rows are too few for --pca 144/],
      [["--pca", "25"], /--pca 25: encoder \S*tiny-encoder gives 24 features; give a smaller --pca/],
      [["--pca", "0"], /found "0", wanted a whole number above 0/],
      [["--encoder", path("nowhere")], /the encoder folder cannot be read/],
      [["--costs", few], /few\.json: "strong" has no cost/],
      [["--selftest", labels], /labels\.jsonl has no prompt that is not in the labels/],
      [["--labels", path("nowhere.jsonl")], /cannot be read \(ENOENT\)/],
    ];
    for (const [change, message] of cases) {
      const { status, stderr, stdout } = run(...args("refused", "cache", change));
      assert.equal(status, 2, stderr);
      assert.match(stderr, message);
      assert.equal(stdout, "");
      assert.ok(!readdirSync(folder).includes("refused"));
    }
  });
});
