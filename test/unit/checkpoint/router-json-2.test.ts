// What is refused of a checkpoint of format 2: by field and by tensor.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { tensorsOf } from "../../../src/checkpoint/head-tensors.js";
import { parseRouterJson2, readRouterJson2 } from "../../../src/checkpoint/router-json-2.js";
import { writeRouterJson2 } from "../../../src/checkpoint/router-json-write.js";
import { fromFloat32, parseSafetensors, serializeSafetensors } from "../../../src/checkpoint/safetensors.js";
import type { HeadWeights, Linear, Member } from "../../../src/head/weights.js";
import { refusal } from "../../support/refusal.js";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const ramp = (count: number) => Float32Array.from({ length: count }, (_, index) => 1 + index / 8);
const linear = (inputSize: number, outputSize: number): Linear => {
  return { inputSize, outputSize, weight: ramp(inputSize * outputSize), bias: ramp(outputSize) };
};
const block = { pooling: "mean", hiddenSize: 3, pcaSize: 2 } as const;
const scaler = (rawSize: number) => ({
  scalerMean: ramp(rawSize),
  scalerScale: ramp(rawSize),
  pcaMean: ramp(rawSize),
  pcaComponents: ramp(2 * rawSize),
});
const member: Member = {
  kind: "per_output",
  adapters: [linear(4, 3), linear(4, 3)],
  trunk: linear(3, 2),
  heads: [linear(2, 1), linear(2, 1)],
};
const standardised = { kind: "standardised_mean", layerMean: ramp(6), layerScale: ramp(6) } as const;
const head: HeadWeights = {
  outputNames: ["weak", "strong"],
  blocks: [
    { ...block, layers: [0, 2], combination: { kind: "concat" }, ...scaler(6) },
    { ...block, layers: [1, 3], combination: standardised, ...scaler(3) },
  ],
  members: [member, member],
  calibration: [{ slope: 1.5, intercept: -0.25 }, null],
};
const files = writeRouterJson2(
  {
    format: "router-json-2",
    encoderName: "example/tiny-encoder",
    head,
    costs: { weak: 0.25, strong: 3 },
    chatTemplateKwargs: { enable_thinking: false },
    message: "latest",
    view: { template: "chat", template_sha256: "0f".repeat(32), max_tokens: 2048, truncation: "right" },
    encoderFiles: { "model.onnx": "12".repeat(32) },
    training: { rows: 1000 },
  },
  sha256,
);
type Json = Record<string, unknown>;
const text = new TextDecoder().decode(files["router.json"]);
/** router.json with the value at a dotted path replaced; undefined takes it out. */
function metadata(path = "", value?: unknown): Json {
  const content = JSON.parse(text) as Json;
  const keys = path.split(".");
  const last = keys.pop()!;
  const place = keys.reduce<Json>((found, key) => found[key] as Json, content);
  if (value === undefined) delete place[last];
  else place[last] = value;
  return content;
}

describe("a field of router.json is refused by its name", () => {
  const cases: readonly (readonly [path: string, ...values: unknown[]])[] = [
    ["format_version", 1, 3, "2", undefined],
    ["encoder", undefined, "example/tiny-encoder"],
    ["encoder.id", "", 7],
    ["encoder.files", null, []],
    ["encoder.files.tokenizer", "12", "G".repeat(64), "AB".repeat(32)],
    ["view.template", "chatml", undefined],
    ["view.template_sha256", "", undefined],
    ["view.chat_template_kwargs", [], null, undefined],
    ["view.max_tokens", 0, -1, 1.5, 1e8],
    ["view.truncation", "left"],
    ["view.message", "last", null, undefined],
    ["blocks", [], {}, undefined],
    ["blocks.1.layers", [], [1.5], [-1], "1"],
    ["blocks.1.pooling", "max"],
    ["blocks.0.hidden_size", 0, 1e8, 2.5],
    ["blocks.0.combination", "mean", undefined],
    ["blocks.0.pca_dim", 0, undefined],
    ["members.kind", "shared_trunk", undefined],
    ["members.count", 0, 1001, Number.POSITIVE_INFINITY],
    ["members.adapter", 0, undefined],
    ["members.trunk", -1, undefined],
    ["output_names", [], [""], "weak"],
    ["calibration", null, undefined],
    ["calibration.0.slope", Number.POSITIVE_INFINITY, "1", undefined],
    ["costs.weak", -0.01, Number.POSITIVE_INFINITY, "1"],
    ["training", null, []],
    ["tensor_file", "../router.safetensors", "weights.safetensors"],
    ["tensor_sha256", "", "12".repeat(31), undefined],
  ];
  for (const [path, ...values] of cases) {
    test(path, () => {
      for (const value of values) {
        const { message } = refusal("checkpoint", () => parseRouterJson2(metadata(path, value)));
        const place = path.replace(/\.layers$|^output_names$/, "$&(\\.0)?");
        assert.match(message, new RegExp(`^router\\.json: ${place}: `));
      }
    });
  }
  test("a field that nobody knows, at every level", () => {
    for (const path of ["", "encoder.", "view.", "blocks.1.", "members.", "calibration.0."]) {
      const { message } = refusal("checkpoint", () => parseRouterJson2(metadata(`${path}colour`, "red")));
      assert.match(message, /^router\.json: .*"colour"/);
    }
  });
  test("what contradicts another field", () => {
    const contradictions: readonly (readonly [path: string, value: unknown, finding: RegExp])[] = [
      ["output_names", ["weak", "weak"], /output_names holds a name twice/],
      ["blocks.1.layers", [3, 1, 3], /layers hold a layer twice/],
      ["calibration", [null], /calibration has 1 entries, wanted 2/],
      ["costs", { weak: 1 }, /costs lacks an output/],
    ];
    for (const [path, value, finding] of contradictions) {
      assert.match(refusal("checkpoint", () => parseRouterJson2(metadata(path, value))).message, finding);
    }
  });
  test("a key __proto__, which would be lost", () => {
    for (const field of ['"files": {', '"chat_template_kwargs": {', '"costs": {', '"training": {']) {
      const value = field.includes("costs") ? "1" : `"${"12".repeat(32)}"`;
      const content = JSON.parse(text.replace(field, `${field}"__proto__": ${value},`)) as unknown;
      refusal("checkpoint", () => parseRouterJson2(content));
    }
  });
});

describe("tensors are refused by name", () => {
  const read =
    (change: (values: Float32Array, shape: number[]) => readonly [Float32Array, number[]] | null) =>
    (name: string) => {
      const tensors = tensorsOf(head).flatMap(([key, values, shape]) => {
        const made = key === name ? change(values, shape) : ([values, shape] as const);
        return made === null ? [] : [[key, fromFloat32(...made)] as const];
      });
      return readRouterJson2(
        parseRouterJson2(metadata("x")),
        parseSafetensors(serializeSafetensors(tensors)),
      );
    };
  const changes = {
    "is missing": read(() => null),
    "wanted F32": read((values, shape) => [values.subarray(1), [1, values.length - 1].slice(-shape.length)]),
    "not finite": read((values, shape) => [values.with(0, Number.NaN), shape]),
  };
  for (const [finding, change] of Object.entries(changes)) {
    test(`each one that ${finding}`, () => {
      for (const [name] of tensorsOf(head)) {
        const { message } = refusal("checkpoint", () => change(name));
        assert.ok(message.startsWith(`router.safetensors: `) && message.includes(` ${name} `), message);
        assert.ok(message.includes(finding), message);
      }
    });
  }
  test("a scale of zero or below, of block or layers, while other tensors may hold it", () => {
    for (const [name] of tensorsOf(head)) {
      for (const value of [0, -1]) {
        const change = () => read((values, shape) => [values.with(0, value), shape])(name);
        if (!name.endsWith("_scale")) change();
        else assert.match(refusal("checkpoint", change).message, new RegExp(`${name} holds a value ≤ 0`));
      }
    }
  });
});
