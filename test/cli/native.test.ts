// A system on which onnxruntime cannot be loaded, and one whose Node is too old, as a user meets them: one
// line with the remedy. onnxruntime's library is replaced by a file that is none, which the dynamic linker
// refuses.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fixturePath, packagePath, readJson } from "../support/fixtures.js";
import { tinyConfig } from "../support/judge-server.js";

const folder = mkdtempSync(join(tmpdir(), "judge-native-"));
after(() => rmSync(folder, { recursive: true }));
const write = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

const library = write("onnxruntime_binding.node", "no library");
const hook = write(
  "hook.cjs",
  `const { dlopen } = process;
process.dlopen = (module, file, ...flags) =>
  dlopen(module, file.endsWith("onnxruntime_binding.node") ? ${JSON.stringify(library)} : file, ...flags);`,
);
const run = (main: string, args: readonly string[], options = "") =>
  spawnSync(process.execPath, [main, ...args], {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: options },
  });
const runWithout = (...args: string[]) => run(packagePath("dist/src/main.js"), args, `--require=${hook}`);
const finding = "onnxruntime cannot be loaded: onnxruntime_binding.node: file too short";

test("a command that needs onnxruntime says in a line why it does not run", () => {
  const { status, stdout, stderr } = runWithout("score", "--config", write("tiny.toml", tinyConfig), "x");
  assert.equal(status, 2);
  assert.equal(stdout, "");
  assert.ok(stderr.includes(`${finding}; it needs glibc, which Alpine's musl is not`), stderr);
  assert.equal(stderr.trim().split("\n").length, 1, stderr);
});

test("doctor works without onnxruntime, and says so of encoders here and behind a server", () => {
  const tokenizer = fixturePath("tiny-encoder");
  const far = `[encoders.far]
type = "vllm"
path = "${tokenizer}"
model = "tiny"
base_url = "http://127.0.0.1:9/v1"
captured_layers = [1]
hidden_states_root = "${folder}"
[judges.far]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "far"
output = "weak"
`;
  for (const [config, check] of [
    [tinyConfig, "model"],
    [far, "tokenizer"],
  ] as const) {
    const { status, stdout, stderr } = runWithout("doctor", "--json", "--config", write("c.toml", config));
    assert.equal(status, 1, stderr);
    const { checks } = JSON.parse(stdout) as {
      checks: { subject: string; check: string; status: string; found: string; advice: string }[];
    };
    const findingOf = (subject: string, name: string) =>
      checks.find((entry) => entry.subject === subject && entry.check === name)!;
    const found = findingOf("encoder", check);
    assert.deepEqual([found.status, found.found], ["wrong", finding]);
    assert.match(found.advice, /^it needs glibc/);
    assert.equal(findingOf("judge", "checkpoint").status, "ok");
  }
});

test("an older Node than the project wants is named before anything else is loaded", () => {
  const copy = join(folder, "package");
  cpSync(packagePath("dist/src"), join(copy, "dist/src"), { recursive: true });
  symlinkSync(packagePath("node_modules"), join(copy, "node_modules"));
  const manifest = readJson<object>(packagePath("package.json"));
  writeFileSync(join(copy, "package.json"), JSON.stringify({ ...manifest, engines: { node: ">=99.1" } }));
  const { status, stdout, stderr } = run(join(copy, "dist/src/main.js"), ["doctor"]);
  assert.equal(status, 2);
  assert.equal(stdout, "");
  assert.equal(
    stderr,
    `prefill-judge: found Node ${process.versions.node}, wanted >=99.1; install a newer Node\n`,
  );
});
