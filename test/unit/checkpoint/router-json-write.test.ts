// Heads written and read back: every kind through format 2, and through format 1 what that can hold.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import fc from "fast-check";
import { loadCheckpoint } from "../../../src/checkpoint/load.js";
import { parseRouterJson, readRouterTensors } from "../../../src/checkpoint/router-json.js";
import {
  parseRouterJson2,
  type RouterJson2Content,
  readRouterJson2,
} from "../../../src/checkpoint/router-json-2.js";
import {
  type RouterFiles,
  writeRouterJson1,
  writeRouterJson2,
} from "../../../src/checkpoint/router-json-write.js";
import { parseSafetensors } from "../../../src/checkpoint/safetensors.js";
import { pooledKey } from "../../../src/features/pooled.js";
import { calibrate, probabilities } from "../../../src/head/head.js";
import type { FeatureBlock, HeadWeights, Linear, Member } from "../../../src/head/weights.js";
import { fixturePath, packagePath } from "../../support/fixtures.js";
import { refusal } from "../../support/refusal.js";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const jsonOf = (files: RouterFiles) => JSON.parse(new TextDecoder().decode(files["router.json"])) as unknown;
const readBack = (files: RouterFiles) =>
  readRouterJson2(parseRouterJson2(jsonOf(files)), parseSafetensors(files["router.safetensors"]));

const size = fc.integer({ min: 1, max: 4 });
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const name = fc.string({ minLength: 1 }).filter((text) => text !== "__proto__");
const json = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll("__proto__", "proto")));
const keyed = <T>(value: fc.Arbitrary<T>) => fc.dictionary(name, value, { noNullPrototype: true });
const platt = fc.option(fc.record({ slope: number, intercept: number }));
const shape = fc.record({
  outputs: fc.uniqueArray(fc.tuple(name, platt, fc.nat(100)), {
    minLength: 1,
    maxLength: 3,
    selector: ([text]) => text,
  }),
  hiddenSize: size,
  blocks: fc.array(
    fc.record({
      layers: fc.uniqueArray(fc.nat(30), { minLength: 1, maxLength: 4 }),
      pooling: fc.constantFrom("mean" as const, "last" as const),
      concat: fc.boolean(),
      pcaSize: size,
    }),
    { minLength: 1, maxLength: 3 },
  ),
  members: size,
  perOutput: fc.boolean(),
  hidden: fc.array(size, { maxLength: 3 }),
});

type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never;

function headOf({ outputs, hiddenSize, ...given }: Shape): HeadWeights {
  let next = 0;
  const values = (count: number, lift = 0) =>
    Float32Array.from({ length: count }, () => Math.sin(next++) + lift);
  const linear = (inputSize: number, outputSize: number): Linear => {
    return { inputSize, outputSize, weight: values(inputSize * outputSize), bias: values(outputSize) };
  };
  const blocks = given.blocks.map(({ layers, pooling, concat, pcaSize }): FeatureBlock => {
    const layerSize = layers.length * hiddenSize;
    const rawSize = concat ? layerSize : hiddenSize;
    const kind = "standardised_mean";
    return {
      layers,
      pooling,
      hiddenSize,
      combination: concat
        ? { kind: "concat" }
        : { kind, layerMean: values(layerSize), layerScale: values(layerSize, 1.5) },
      scalerMean: values(rawSize),
      scalerScale: values(rawSize, 1.5),
      pcaMean: values(rawSize),
      pcaSize,
      pcaComponents: values(pcaSize * rawSize),
    };
  });
  const featureSize = blocks.reduce((sum, { pcaSize }) => sum + pcaSize, 0);
  const [adapter = 2, trunk = 3] = given.hidden;
  const widths = [featureSize, ...given.hidden, outputs.length];
  const member = (): Member =>
    given.perOutput
      ? {
          kind: "per_output",
          adapters: outputs.map(() => linear(featureSize, adapter)),
          trunk: linear(adapter, trunk),
          heads: outputs.map(() => linear(trunk, 1)),
        }
      : { kind: "shared", layers: widths.slice(1).map((width, index) => linear(widths[index]!, width)) };
  return {
    outputNames: outputs.map(([text]) => text),
    blocks,
    members: Array.from({ length: given.members }, member),
    calibration: outputs.map(([, calibration]) => calibration && { ...calibration }),
  };
}

const content = fc
  .record({
    shape,
    priced: fc.boolean(),
    encoderName: name,
    encoderFiles: keyed(fc.constantFrom("0f".repeat(32), "12".repeat(32))),
    chatTemplateKwargs: keyed(json),
    message: fc.constantFrom("first" as const, "latest" as const),
    view: fc.record(
      {
        template: fc.constantFrom("chat", "none", null),
        template_sha256: fc.option(fc.constant("0f".repeat(32))),
        max_tokens: fc.option(fc.integer({ min: 1, max: 8192 })),
        truncation: fc.constantFrom("middle", "right", null),
        spaces: fc.constantFrom("single", "keep"),
        envelopes: fc.constantFrom("strip", "keep"),
        own_envelopes: fc.array(
          fc.record(
            {
              client: name,
              kind: fc.constantFrom("block", "wrapper", "message"),
              start: name,
              end: fc.option(name),
            },
            { noNullPrototype: true },
          ),
        ),
      },
      { requiredKeys: ["template", "template_sha256", "max_tokens", "truncation"] },
    ),
    training: keyed(json),
  })
  .map(({ shape: given, priced, view, ...rest }): RouterJson2Content => {
    const costs = priced ? Object.fromEntries(given.outputs.map(([text, , cost]) => [text, cost])) : null;
    return { ...rest, view: { ...view }, format: "router-json-2", head: headOf(given), costs };
  });

test("format 2 gives back every kind of content, and its probabilities to the last bit", (context) => {
  const seen = new Map<string, number>();
  const property = fc.property(content, (given) => {
    const found = readBack(writeRouterJson2(given, sha256));
    assert.deepEqual(found, given);
    const { blocks, members } = given.head;
    const keys = blocks.flatMap(({ layers, pooling }) => layers.map((layer) => pooledKey(layer, pooling)));
    const pooled = new Map(
      keys.map((key) => [key, new Float32Array(blocks[0]!.hiddenSize).fill(Number.parseInt(key, 10))]),
    );
    const raw = probabilities(given.head, pooled);
    assert.deepEqual(probabilities(found.head, pooled), raw);
    assert.deepEqual(calibrate(found.head, raw), calibrate(given.head, raw));
    const kinds = `${members[0]!.kind} on ${blocks[0]!.combination.kind}`;
    seen.set(kinds, (seen.get(kinds) ?? 0) + 1);
  });
  fc.assert(property, { numRuns: 200 });
  context.diagnostic(JSON.stringify(Object.fromEntries(seen)));
  assert.equal(seen.size, 4, "both kinds of member on both kinds of block");
});

describe("format 1 comes out of itself and out of format 2 as it went in", () => {
  const fixtures = ["", "-four-outputs"].map((one) => fixturePath(`checkpoints/router-json-v1${one}`));
  for (const path of fixtures) {
    test(path.split("/").at(-1)!, async () => {
      const original = await loadCheckpoint(path);
      const { tensors } = parseSafetensors(readFileSync(`${path}/router.safetensors`));
      const second = readBack(writeRouterJson2(original, sha256));
      for (const files of [original, second].map(writeRouterJson1)) {
        assert.deepEqual(jsonOf(files), JSON.parse(readFileSync(`${path}/router.json`, "utf8")));
        const written = parseSafetensors(files["router.safetensors"]);
        assert.deepEqual(new Map(written.tensors), new Map(tensors));
        assert.deepEqual(readRouterTensors(parseRouterJson(jsonOf(files)), written), original.head);
      }
    });
  }
});

describe("an embedded judge comes out of format 2 as it went in", () => {
  for (const name of ["smollm2-135m", "minilm-l6"]) {
    test(name, async () => {
      const path = packagePath(`checkpoints/${name}`);
      const original = await loadCheckpoint(path);
      const files = writeRouterJson2({ ...original, view: original.view! }, sha256);
      assert.deepEqual(jsonOf(files), JSON.parse(readFileSync(`${path}/router.json`, "utf8")));
      assert.deepEqual(
        files["router.safetensors"],
        new Uint8Array(readFileSync(`${path}/router.safetensors`)),
      );
    });
  }
});

const plain = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));

describe("format 1 refuses what it cannot hold, with the reason", () => {
  const [only] = plain.head.blocks;
  const [member] = plain.head.members as [Extract<Member, { kind: "shared" }>];
  const ones = new Float32Array(96).fill(1);
  const combination = { kind: "standardised_mean", layerMean: ones, layerScale: ones } as const;
  const [first, second] = [member.layers[0]!, member.layers[1]!];
  const adapters = [first, first];
  const perOutput: Member = { kind: "per_output", adapters, trunk: second, heads: adapters };
  const heads: Readonly<Record<string, readonly [change: Partial<HeadWeights>, reason: RegExp]>> = {
    "two blocks": [{ blocks: [only!, only!] }, /it has 2 feature blocks, wanted 1/],
    "standardised layers": [{ blocks: [{ ...only!, combination }] }, /standardised and averaged/],
    "the last token": [{ blocks: [{ ...only!, pooling: "last" }] }, /its pooling is last, wanted mean/],
    "adapters per output": [{ members: [perOutput] }, /not networks of two hidden layers/],
    "one hidden layer": [{ members: [{ ...member, layers: [first, second] }] }, /two hidden layers/],
    "one calibrated output": [{ calibration: [null, { slope: 1, intercept: 0 }] }, /calibrated/],
  };
  for (const [what, [change, reason]] of Object.entries(heads)) {
    test(what, () => {
      const given = { ...plain, head: { ...plain.head, ...change } };
      const { message } = refusal("checkpoint", () => writeRouterJson1(given));
      assert.match(message, /^format router-json-1 cannot hold this head: .*; use router-json-2$/);
      assert.match(message, reason);
    });
  }
  // read back, these would be judged in another way than they were trained for
  for (const change of [{ message: "latest" as const }, { chatTemplateKwargs: { enable_thinking: false } }]) {
    test(JSON.stringify(change), () => {
      refusal("checkpoint", () => writeRouterJson1({ ...plain, ...change }));
    });
  }
});
