// The one-way imports of design.md, read off the import lines of src/.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { packagePath, readJson } from "../support/fixtures.js";

/** group → the files of src/ it may import; within a group imports are free */
const allowed: Readonly<Record<string, RegExp>> = {
  errors: /^$/,
  "decode-text": /^errors\.ts$/,
  "prototype-key": /^$/,
  "visible-text": /^$/,
  "process-limits": /^$/,
  abort: /^errors\.ts$/,
  "regular-file": /^errors\.ts$/,
  observe: /^$/,
  prompt: /^(errors|visible-text)\.ts$/,
  features: /^errors\.ts$/,
  wasm: /^$/,
  verdict: /^errors\.ts$/,
  head: /^(features|wasm)\//,
  checkpoint: /^((decode-text|errors|prototype-key|regular-file)\.ts$|(head|features)\/)/,
  encoder:
    /^((abort|decode-text|errors|regular-file|visible-text)\.ts$|features\/|checkpoint\/safetensors[a-z-]*\.ts$)/,
  judge:
    /^((abort|errors)\.ts$|(prompt|features|head|verdict|checkpoint)\/|encoder\/(encoder|check-view)\.ts$)/,
  http: /^(errors\.ts$|(prompt|verdict|judge|observe)\/)/,
  cli: /^(?!encoder\/(onnx|vllm)\/|main\.ts$)/,
  main: /^(?!encoder\/(onnx|vllm)\/)/,
  compose: /^(?!encoder\/(onnx|vllm)\/)/,
  "compose-encoders": /./,
  train: /^(errors\.ts$|(features|head|wasm|checkpoint)\/|encoder\/encoder\.ts$|verdict\/choice\.ts$)/,
  reload: /^((compose|config|errors)\.ts$|(judge|observe)\/)/,
  config:
    /^((decode-text|errors|prototype-key|regular-file)\.ts$|verdict\/|encoder\/encoder\.ts$|prompt\/envelope\.ts$)/,
};
/** npm package → the files that may import it */
const packages: Readonly<Record<string, RegExp>> = {
  "@cfworker/json-schema": /^http\/schema-validator\.ts$/,
  "@hono/node-server": /^http\//,
  "@huggingface/transformers": /^encoder\/(tokenizer|frame|chat-template)\.ts$/,
  "cli-progress": /^cli\/score-rows\.ts$/,
  commander: /^cli\/command(s-[a-z]+|-options|-line)\.ts$/,
  "fastest-levenshtein": /^(config-sources|cli\/routes-check)\.ts$/,
  hono: /^http\//,
  "jsonc-parser": /^http\/body\.ts$/,
  "lru-cache": /^(judge\/probability-cache|http\/schema-check)\.ts$/,
  "onnxruntime-node": /^encoder\/onnx\/(session|contract|prefix)\.ts$/,
  pino: /^observe\/log\.ts$/,
  "pino-pretty": /^observe\/log\.ts$/,
  "prom-client": /^observe\/metrics\.ts$/,
  "smol-toml": /^(config-sources|cli\/(routes|costs)-file)\.ts$/,
  zod: /^(config-schema|config-sources|config-envelopes|checkpoint\/(router-json(-2)?|selftest)|cli\/[a-z-]+|encoder\/(bert-letters|folder|vllm\/client)|http\/[a-z-]+|train\/[a-z-]+|verdict\/crux)\.ts$/,
};
const pure =
  /^(prompt|features|wasm|head|verdict)\/|^checkpoint\/(?!load|save)|^encoder\/(bert-letters|truncate)\.ts$/;
const impure = /\b(Date|performance|Math\.random|crypto|process|setTimeout|globalThis)\b/g;

function groupOf(path: string): string {
  if (path.includes("/")) return path.slice(0, path.indexOf("/"));
  return path.replace(/\.ts$/, "").replace(/^(config|compose(?!-encoders$))-.*$/, "$1");
}

/** What breaks a rule in a file of src/, in words. */
function violations(path: string, source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|\s\/\/ .*$/gm, "");
  const found: string[] = [];
  if (/\bexport\s[^;]*\bfrom\s*["']/.test(code) || /(^|\/)index\.ts$/.test(path)) found.push("is a barrel");
  if (/\brequire\b/.test(code)) found.push("requires");
  if (pure.test(path)) found.push(...(code.match(impure) ?? []).map((name) => `is pure but uses ${name}`));
  for (const [, target] of code.matchAll(/(?<!["'`])\b(?:from|import)\s*\(?\s*["'`]([^"'`]+)/g)) {
    if (target!.startsWith("node:")) {
      if (pure.test(path)) found.push(`is pure but imports ${target}`);
    } else if (target!.startsWith(".")) {
      const file = posix.join(posix.dirname(path), target!).replace(/\.js$/, ".ts");
      const rule = allowed[groupOf(path)];
      if (groupOf(file) !== groupOf(path) && rule?.test(file) !== true) found.push(`imports ${file}`);
    } else {
      const name = target!.match(/^(@[^/]+\/)?[^/]+/)![0];
      if (packages[name]?.test(path) !== true) found.push(`imports package ${target}`);
    }
  }
  return found.map((finding) => `${path} ${finding}`);
}

const sources = readdirSync(packagePath("src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => ({ path: name, source: readFileSync(packagePath(`src/${name}`), "utf8") }));

test("every file of src/ imports only what its folder may", () => {
  assert.ok(sources.length >= 40, `found ${sources.length} files`);
  assert.deepEqual(
    sources.flatMap(({ path, source }) => violations(path, source)),
    [],
  );
});

test("every group with a rule exists and every group has a rule", () => {
  const groups = new Set(sources.map(({ path }) => groupOf(path)));
  assert.deepEqual([...groups].sort(), Object.keys(allowed).sort());
});

test("every dependency of package.json is imported, and has its place here", () => {
  const { dependencies } = readJson<{ dependencies: object }>(packagePath("package.json"));
  assert.deepEqual(Object.keys(packages).sort(), Object.keys(dependencies).sort());
  for (const name of Object.keys(packages)) {
    assert.ok(
      sources.some(({ source }) => source.includes(`from "${name}`)),
      `${name} is not imported`,
    );
  }
});

const broken: readonly (readonly [path: string, line: string])[] = [
  ["errors.ts", 'import { hint } from "./config-sources.js";'],
  ["observe/log.ts", 'import { JudgeError } from "../errors.js";'],
  ["prompt/judged-text.ts", 'import type { Judge } from "../judge/judge.js";'],
  ["head/head.ts", 'import { parseSafetensors } from "../checkpoint/safetensors.js";'],
  ["checkpoint/load.ts", 'const { x } = await import("../judge/judge.js");'],
  ["encoder/encoder.ts", 'import "../head/head.js";'],
  ["encoder/onnx/batch.ts", 'import {\n  loadCheckpoint,\n} from "../../checkpoint/load.js";'],
  ["judge/judge.ts", 'import { createOnnxEncoder } from "../encoder/onnx/onnx-encoder.js";'],
  ["http/app.ts", 'import type { Encoder } from "../encoder/encoder.js";'],
  ["cli/serve.ts", 'import { createOnnxEncoder } from "../encoder/onnx/onnx-encoder.js";'],
  ["compose.ts", 'import { createVllmEncoder } from "./encoder/vllm/vllm-encoder.js";'],
  ["compose-app.ts", 'import { createOnnxEncoder } from "./encoder/onnx/onnx-encoder.js";'],
  ["config.ts", 'import { createOnnxEncoder } from "./encoder/onnx/onnx-encoder.js";'],
  ["train/fit.ts", 'import { createApp } from "../http/app.js";'],
  ["head/head.ts", 'import { readFileSync } from "node:fs";'],
  ["features/pooling.ts", "const started = Date.now();"],
  ["encoder/truncate.ts", "const at = Math.random();"],
  ["judge/judge.ts", 'import * as z from "zod";'],
  ["cli/serve.ts", 'import { Hono } from "hono/tiny";'],
  ["verdict/crux.ts", 'export * from "./capability.js";'],
  ["judge/index.ts", "export const nothing = 0;"],
];
for (const [path, line] of broken) {
  test(`a broken rule is found: ${path} with ${line}`, () => {
    assert.equal(violations(path, line).length, 1);
  });
}
