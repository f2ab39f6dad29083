// Commands read prompts as the server does: what clients put around them is taken off where the judge takes
// it off, in training, in the measure and in the score.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { RouterJson2 } from "../../src/checkpoint/router-json-2.js";
import { fixturePath, packagePath } from "../support/fixtures.js";
import { tinyConfig } from "../support/judge-server.js";

const folder = mkdtempSync(join(tmpdir(), "judge-envelopes-"));
after(() => rmSync(folder, { recursive: true }));
const write = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const run = (...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [packagePath("dist/src/main.js"), ...args], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return stdout;
};

const own = '[[envelopes]]\nclient = "house-ide"\nkind = "block"\nstart = "<<house"\nend = "house>>"\n';
const config = (rule: "strip" | "keep") =>
  write(`${rule}.toml`, `${own}${tinyConfig}envelopes = "${rule}"\n`);
const prompts = Array.from(
  { length: 60 },
  (_, index) => `Task ${index}: ${"add  the numbers ".repeat(index % 7)}now`,
);
const rows = prompts.map((prompt, index) => ({
  id: `r${index}`,
  prompt,
  split: index % 3 === 0 ? "test" : "train",
  labels: { weak: index % 7 > 3, strong: index % 5 > 1 },
}));
const lines = (values: readonly object[]) => values.map((value) => JSON.stringify(value)).join("\n");
const plain = write("plain.jsonl", lines(rows));
/** The same tasks as an agent sends them: in a message of their own behind the harness, or in one with it. */
const wrapped = write(
  "wrapped.jsonl",
  lines(
    rows.map(({ prompt, ...row }, index) => {
      const harness = "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>\n<<house rules house>>";
      if (index % 2 === 0) return { ...row, prompt: `${harness}\n${prompt}` };
      const user = (content: string) => ({ role: "user", content });
      return { ...row, messages: [user(harness), user(prompt)] };
    }),
  ),
);

const train = (labels: string, name: string, ...more: string[]) => {
  const out = join(folder, name);
  const encoder = ["--encoder", fixturePath("tiny-encoder"), "--layer", "2", "--pca", "5"];
  const cache = ["--cache", join(folder, "cache"), "--no-calibration"];
  run("train", "--config", config("strip"), "--labels", labels, ...encoder, ...cache, "--out", out, ...more);
  const file = (part: string) => readFileSync(join(out, part));
  return { out, file, view: (JSON.parse(file("router.json").toString()) as RouterJson2).view };
};

describe("train", () => {
  test("learns the same of a task with and without its harness, and the checkpoint says what was taken off", () => {
    const [first, second] = [train(plain, "first"), train(wrapped, "second")];
    assert.deepEqual(second.file("router.safetensors"), first.file("router.safetensors"));
    assert.equal(second.view.envelopes, "strip");
    assert.deepEqual(second.view.own_envelopes, [
      { client: "house-ide", kind: "block", start: "<<house", end: "house>>" },
    ]);
    assert.equal(second.view.spaces, "keep");
    assert.match(run("inspect", second.out), /without the envelopes of clients/);
    // it takes them off wherever it is served, since it was trained so
    const encoder = ["--encoder", fixturePath("tiny-encoder")];
    const auc = (labels: string) =>
      run("evaluate", "--labels", labels, "--checkpoint", second.out, ...encoder, "--json");
    assert.deepEqual(JSON.parse(auc(wrapped)).outputs, JSON.parse(auc(plain)).outputs);
  });

  test("with --envelopes keep it reads prompts as they are, and with --spaces single runs of spaces as one", () => {
    const kept = train(plain, "kept", "--envelopes", "keep", "--spaces", "single");
    assert.equal(kept.view.envelopes, "keep");
    assert.equal(kept.view.own_envelopes, undefined);
    assert.equal(kept.view.spaces, "single");
    const singled = write(
      "singled.jsonl",
      lines(rows.map((row) => ({ ...row, prompt: row.prompt.replace(/ +/g, " ") }))),
    );
    const other = train(singled, "other", "--envelopes", "keep");
    assert.deepEqual(other.file("router.safetensors"), kept.file("router.safetensors"));
  });
});

test("evaluate and score read prompts as the judge of the configuration does", () => {
  const evaluated = (labels: string, rule: "strip" | "keep") =>
    JSON.parse(run("evaluate", "--config", config(rule), "--labels", labels, "--json")).outputs;
  assert.deepEqual(evaluated(wrapped, "strip"), evaluated(plain, "strip"));
  const inline = write(
    "inline.jsonl",
    lines(rows.map((row) => ({ ...row, prompt: `<<house x house>>\n${row.prompt}` }))),
  );
  assert.notDeepEqual(evaluated(inline, "keep"), evaluated(plain, "keep"));
  const scored = (prompt: string, rule: "strip" | "keep") =>
    JSON.parse(
      run("score", "--config", config(rule), "--file", write("one.jsonl", JSON.stringify({ prompt }))),
    );
  const { p_solve, envelopes } = scored("<<house rules house>>\nHi", "strip");
  assert.equal(p_solve, scored("Hi", "keep").p_solve);
  assert.deepEqual(envelopes, [{ client: "house-ide", kind: "block", count: 1, characters: 21 }]);
  assert.notEqual(scored("<<house rules house>>\nHi", "keep").p_solve, p_solve);
});
