// The one-way imports of docs/architecture.md, read off the import lines of src/.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { packagePath, readJson } from "../support/fixtures.js";

/** room → the files of src/ it may import beside its own; files of the root are rooms of one */
const allowed: Readonly<Record<string, RegExp>> = {
  errors: /^$/,
  abort: /^errors\.ts$/,
  main: /^(errors\.ts$|cli\/|doctor\/node-version\.ts$)/,
  input: /^errors\.ts$/,
  observe: /^$/,
  wasm: /^$/,
  features: /^errors\.ts$/,
  head: /^(features|wasm)\//,
  prompt: /^(errors\.ts$|input\/)/,
  checkpoint: /^(errors\.ts$|(input|head|features|prompt)\/|encoder\/view\.ts$)/,
  encoder: /^((abort|errors)\.ts$|(input|features)\/|checkpoint\/safetensors[a-z-]*\.ts$)/,
  judge: /^((abort|errors)\.ts$|(prompt|features|head|checkpoint)\/|encoder\/[a-z-]+\.ts$)/,
  answer: /^(errors\.ts$|(prompt|judge|input)\/)/,
  http: /^(errors\.ts$|(prompt|judge|answer|observe|input)\/)/,
  config: /^(errors\.ts$|(input|prompt|answer|judge)\/|encoder\/|observe\/log-level\.ts$)/,
  server: /^(?!cli\/|main\.ts$|doctor\/|train\/|evaluate\/|labels\/)/,
  doctor: /^(?!cli\/|main\.ts$|http\/|train\/|evaluate\/|labels\/|encoder\/(onnx|vllm)\/)/,
  labels: /^(errors\.ts$|(input|prompt)\/)/,
  prepare: /^(errors\.ts$|input\/|encoder\/external-data\.ts$)/,
  evaluate: /^(errors\.ts$|(answer|labels)\/|train\/numeric\/)/,
  train: /^((errors)\.ts$|(features|head|wasm|checkpoint|labels|evaluate|input)\/|encoder\/encoder\.ts$)/,
  cli: /^(?!encoder\/(onnx|vllm)\/|main\.ts$|http\/)/,
};
/** npm package → the files that may import it */
const packages: Readonly<Record<string, RegExp>> = {
  "@cfworker/json-schema": /^answer\/schema-validator\.ts$/,
  "@hono/node-server": /^http\//,
  "@huggingface/transformers": /^encoder\/tokenizer\/(tokenizer|template-tokens|chat-template)\.ts$/,
  "cli-progress": /^cli\/score-rows\.ts$/,
  commander: /^cli\/([a-z]+\/commands|command-(options|line))\.ts$/,
  "fastest-levenshtein": /^(config\/explain|cli\/routes\/check)\.ts$/,
  hono: /^http\//,
  "jsonc-parser": /^http\/body\/body\.ts$/,
  "lru-cache": /^(judge\/probability-cache|answer\/schema-check)\.ts$/,
  "onnxruntime-node": /^encoder\/onnx\/child\/(session|contract|prefix|padding|extra-inputs)\.ts$/,
  protobufjs: /^prepare\/onnx-proto\.ts$/,
  pino: /^observe\/log\.ts$/,
  "pino-pretty": /^observe\/log\.ts$/,
  "prom-client": /^observe\/metrics\.ts$/,
  "smol-toml": /^(config\/sources|cli\/(routes\/routes|labels\/costs)-file)\.ts$/,
  zod: /^(config\/[a-z-]+|input\/settings-table|encoder\/(onnx|vllm)\/settings|checkpoint\/(router-json(-2)?|selftest|parse-json-part)|cli\/[a-z-/]+|encoder\/(tokenizer\/bert-letters|folder|vllm\/(client|reply))|http\/[a-z-/]+|labels\/[a-z-]+|prepare\/model-folder|prompt\/message-list|evaluate\/[a-z-]+|answer\/(crux|answer-schema))\.ts$/,
};
const pure =
  /^(prompt|features|wasm|head)\/|^answer\/(?!schema-)|^checkpoint\/(?!load|save)|^encoder\/tokenizer\/(bert-letters|truncate)\.ts$/;
/** modules of Node that only compute */
const pureNode = /^node:zlib$/;
const impure = /\b(Date|performance|Math\.random|crypto|process|setTimeout|globalThis)\b/g;

const roomOf = (path: string) => path.replace(/\/.*$|\.ts$/, "");
const codeOf = (source: string) => source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|\s\/\/ .*$/gm, "");

/**
 * What a file names in its import lines, types included: other files of src/ by their path, packages as they
 * are.
 */
function importsOf(path: string, source: string): string[] {
  const lines = codeOf(source).matchAll(/(?<!["'`])\b(?:from|import)\s*\(?\s*["'`]([^"'`]+)/g);
  return [...lines].map(([, target]) =>
    target!.startsWith(".") ? posix.join(posix.dirname(path), target!).replace(/\.js$/, ".ts") : target!,
  );
}

/** What breaks a rule in a file of src/, in words. */
function violations(path: string, source: string): string[] {
  const code = codeOf(source);
  const found: string[] = [];
  if (/\bexport\s[^;]*\bfrom\s*["']/.test(code) || /(^|\/)index\.ts$/.test(path)) found.push("is a barrel");
  if (/\brequire\b/.test(code)) found.push("requires");
  if (pure.test(path)) found.push(...(code.match(impure) ?? []).map((name) => `is pure but uses ${name}`));
  for (const target of importsOf(path, source)) {
    if (target.startsWith("node:")) {
      if (pure.test(path) && !pureNode.test(target)) found.push(`is pure but imports ${target}`);
    } else if (target.endsWith(".ts")) {
      if (roomOf(target) !== roomOf(path) && allowed[roomOf(path)]?.test(target) !== true)
        found.push(`imports ${target}`);
    } else {
      const name = target.match(/^(@[^/]+\/)?[^/]+/)![0];
      if (packages[name]?.test(path) !== true) found.push(`imports package ${target}`);
    }
  }
  return found.map((finding) => `${path} ${finding}`);
}

/** Each circle of files once, as `a > b > a`. */
function circles(files: readonly { path: string; source: string }[]): string[] {
  const imports = new Map(files.map(({ path, source }) => [path, importsOf(path, source)]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]) => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push([...trail.slice(start), path].join(" > "));
    if (start >= 0 || done.has(path)) return;
    for (const target of imports.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const { path } of files) visit(path, []);
  return found;
}

const sources = readdirSync(packagePath("src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => ({ path: name, source: readFileSync(packagePath(`src/${name}`), "utf8") }));

test("every file of src/ imports only what its room may", () => {
  assert.ok(sources.length >= 40, `found ${sources.length} files`);
  assert.deepEqual(
    sources.flatMap(({ path, source }) => violations(path, source)),
    [],
  );
});

test("no file imports itself over others, types included", () => {
  assert.deepEqual(circles(sources), []);
});

test("a circle is found, of types too", () => {
  const file = (path: string, source: string) => ({ path, source });
  const files = [
    file("judge/a.ts", 'import { b } from "./b.js";'),
    file("judge/b.ts", 'import type { C } from "../head/c.js";'),
    file("head/c.ts", 'import type { A } from "../judge/a.js";'),
    file("main.ts", 'import { a } from "./judge/a.js";'),
  ];
  assert.deepEqual(circles(files), ["judge/a.ts > judge/b.ts > head/c.ts > judge/a.ts"]);
});

test("every room with a rule exists and every room has a rule", () => {
  const rooms = new Set(sources.map(({ path }) => roomOf(path)));
  assert.deepEqual([...rooms].sort(), Object.keys(allowed).sort());
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
  ["errors.ts", 'import { hint } from "./config/sources.js";'],
  ["main.ts", 'import { loadConfig } from "./config/config.js";'],
  ["observe/log.ts", 'import { JudgeError } from "../errors.js";'],
  ["prompt/judged-text.ts", 'import type { Judge } from "../judge/judge.js";'],
  ["head/head.ts", 'import { parseSafetensors } from "../checkpoint/safetensors.js";'],
  ["checkpoint/load.ts", 'const { x } = await import("../judge/judge.js");'],
  ["encoder/encoder.ts", 'import "../head/head.js";'],
  ["encoder/onnx/child/batch.ts", 'import {\n  loadCheckpoint,\n} from "../../../checkpoint/load.js";'],
  ["judge/judge.ts", 'import { createOnnxEncoder } from "../encoder/onnx/onnx-encoder.js";'],
  ["judge/judge.ts", 'import { abstentionVerdict } from "../answer/abstention.js";'],
  ["answer/content.ts", 'import type { Service } from "../http/service.js";'],
  ["http/app.ts", 'import type { Encoder } from "../encoder/encoder.js";'],
  ["cli/serve/score.ts", 'import { createApp } from "../../http/app.js";'],
  ["cli/serve/serve.ts", 'import { createOnnxEncoder } from "../../encoder/onnx/onnx-encoder.js";'],
  ["doctor/judge.ts", 'import { createVllmEncoder } from "../encoder/vllm/vllm-encoder.js";'],
  ["train/fit/fit.ts", 'import { createApp } from "../../http/app.js";'],
  ["labels/labels.ts", 'import { rankAuc } from "../evaluate/metrics.js";'],
  ["head/head.ts", 'import { readFileSync } from "node:fs";'],
  ["features/pooling.ts", "const started = Date.now();"],
  ["encoder/tokenizer/truncate.ts", "const at = Math.random();"],
  ["judge/judge.ts", 'import * as z from "zod";'],
  ["cli/serve/serve.ts", 'import { Hono } from "hono/tiny";'],
  ["answer/crux.ts", 'export * from "./capability.js";'],
  ["judge/index.ts", "export const nothing = 0;"],
];
for (const [path, line] of broken) {
  test(`a broken rule is found: ${path} with ${line.replace(/\s+/g, " ")}`, () => {
    assert.equal(violations(path, line).length, 1);
  });
}
