// What is refused of router.json and its tensors: each case is the real fixture with one fault.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { parseRouterJson, readRouterTensors } from "../../../src/checkpoint/router-json.js";
import {
  fromFloat32,
  parseSafetensors,
  type Tensor,
  toFloat32,
} from "../../../src/checkpoint/safetensors.js";
import type { Linear, Member } from "../../../src/head/weights.js";
import { fixturePath, readJson } from "../../support/fixtures.js";
import { refusal } from "../../support/refusal.js";

const folder = fixturePath("checkpoints/router-json-v1");
const metadata = () => readJson<Record<string, unknown>>(`${folder}/router.json`);
const tensors = () => new Map(parseSafetensors(readFileSync(`${folder}/router.safetensors`)).tensors);
const read = (given: Map<string, Tensor>, metadataOf: unknown = metadata()) =>
  readRouterTensors(parseRouterJson(metadataOf), { tensors: given, metadata: {} });

test("the real checkpoint becomes a head of its dimensions", () => {
  const { outputNames, blocks, members } = read(tensors());
  assert.deepEqual(outputNames, ["weak", "strong"]);
  assert.equal(blocks.length, 1);
  assert.deepEqual(blocks[0]!.layers, [0, 1, 2, 3]);
  assert.equal(blocks[0]!.pooling, "mean");
  assert.equal(blocks[0]!.pcaComponents.length, 10 * 96);
  assert.equal(members.length, 5);
  assert.deepEqual(
    layersOf(members[4]!).map(({ inputSize, outputSize }) => [inputSize, outputSize]),
    [
      [10, 16],
      [16, 8],
      [8, 2],
    ],
  );
});

test("every tensor lands where its name says", () => {
  const given = tensors();
  const { blocks, members } = read(given);
  const values = (name: string) => toFloat32(given.get(name)!);
  assert.deepEqual(blocks[0]!.scalerMean, values("transform.scaler_mean"));
  assert.deepEqual(blocks[0]!.scalerScale, values("transform.scaler_scale"));
  assert.deepEqual(blocks[0]!.pcaMean, values("transform.pca_mean"));
  assert.deepEqual(blocks[0]!.pcaComponents, values("transform.pca_components"));
  for (const [index, name] of ["linear1", "linear2", "output"].entries()) {
    assert.deepEqual(layersOf(members[3]!)[index]!.weight, values(`ensemble.3.${name}.weight`));
    assert.deepEqual(layersOf(members[3]!)[index]!.bias, values(`ensemble.3.${name}.bias`));
  }
});

describe("of router.json is refused, by field", () => {
  const cases: Readonly<Record<string, readonly [change: object, message: RegExp]>> = {
    "another version": [{ format_version: 2 }, /format_version/],
    "no version": [{ format_version: undefined }, /format_version/],
    "a whitened PCA": [{ pca_whiten: true }, /pca_whiten/],
    "another training mode": [{ training_mode: "per_target" }, /training_mode/],
    "another representation": [{ representation: "last_token" }, /representation/],
    "another link": [{ probability_link: "softmax" }, /probability_link/],
    "another reduction": [{ ensemble_reduction: "logit_mean" }, /ensemble_reduction/],
    "several feature blocks": [{ feature_block_count: 2 }, /feature_block_count/],
    "another tensor file": [{ tensor_file: "../router.safetensors" }, /tensor_file/],
    "an unknown field": [{ colour: "red" }, /colour/],
    "an unknown field with a line feed": [{ "a\nb": 1 }, /a.*b/],
    "the same output twice": [{ output_names: ["weak", "weak"] }, /output_names holds "weak" twice/],
    "no output": [{ output_names: [] }, /output_names/],
    "an output without a name": [{ output_names: ["weak", ""] }, /output_names\.1/],
    "the same layer twice": [{ extraction_layer_ids: [0, 1, 2, 2] }, /extraction_layer_ids holds 2 twice/],
    "a negative layer": [{ extraction_layer_ids: [0, 1, 2, -1] }, /extraction_layer_ids\.3/],
    "a raw_feature_dim that is not layers × hidden_size": [
      { raw_feature_dim: 95 },
      /raw_feature_dim is 95, wanted layers × hidden_size = 96/,
    ],
    "a layer more than raw_feature_dim holds": [
      { extraction_layer_ids: [0, 1, 2, 3, 4] },
      /raw_feature_dim is 96, wanted layers × hidden_size = 120/,
    ],
    "a third trunk layer": [{ trunk_hidden: [16, 8, 4] }, /trunk_hidden/],
    "a fractional size": [{ pca_dim: 9.5 }, /pca_dim/],
    "a size as text": [{ hidden_size: "24" }, /hidden_size/],
    "an empty ensemble": [{ ensemble_size: 0 }, /ensemble_size/],
  };
  for (const [name, [change, wanted]] of Object.entries(cases)) {
    test(name, () => {
      const content = JSON.parse(JSON.stringify({ ...metadata(), ...change }));
      const { message } = refusal("checkpoint", () => parseRouterJson(content));
      assert.match(message, /^router\.json: /);
      assert.match(message, wanted);
    });
  }
  test("what is no object", () => {
    for (const content of [null, [], "x", 1]) {
      assert.match(
        refusal("checkpoint", () => parseRouterJson(content)).message,
        /^router\.json: the file: /,
      );
    }
  });
});

describe("of the tensors is refused, by name", () => {
  const name = "ensemble.2.linear2.weight";
  const changed = (change: (given: Map<string, Tensor>) => void) => {
    const given = tensors();
    change(given);
    return given;
  };
  /** the fixture with one value of a tensor replaced */
  const withValue = (tensorName: string, value: number) =>
    changed((given) => {
      const tensor = given.get(tensorName)!;
      const values = toFloat32(tensor);
      values[values.length - 1] = value;
      given.set(tensorName, fromFloat32(values, tensor.shape));
    });
  const messageFor = (given: Map<string, Tensor>, content?: unknown) =>
    refusal("checkpoint", () => read(given, content)).message;

  test("each one that is missing", () => {
    assert.equal(tensors().size, 4 + 5 * 6);
    for (const missing of tensors().keys()) {
      const message = messageFor(changed((given) => given.delete(missing)));
      assert.equal(message, `router.safetensors: tensor ${missing} is missing`);
    }
  });
  test("one more than router.json names", () => {
    const message = messageFor(changed((given) => given.set("ensemble.5.linear1.bias", given.get(name)!)));
    assert.match(message, /^router\.safetensors: .*1 tensor/);
  });
  test("a whole member more than ensemble_size", () => {
    assert.match(messageFor(tensors(), { ...metadata(), ensemble_size: 4 }), /6 tensor\(s\)/);
  });
  test("an ensemble_size beyond any array", () => {
    for (const ensemble_size of [6, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
      assert.match(messageFor(tensors(), { ...metadata(), ensemble_size }), /ensemble/);
    }
  });
  test("another shape: transposed, flattened, one row less, one axis more", () => {
    const values = new Float32Array(128);
    for (const shape of [[16, 8], [128], [7, 16], [8, 16, 1], []]) {
      const size = shape.reduce((product, length) => product * length, 1);
      const message = messageFor(
        changed((given) => given.set(name, fromFloat32(values.subarray(0, size), shape))),
      );
      assert.equal(message, `router.safetensors: ${name} is F32 [${shape}], wanted F32 [8,16]`);
    }
  });
  test("another dtype, even where its values would fit", () => {
    const tensor = tensors().get(name)!;
    for (const [dtype, size] of [
      ["F16", 2],
      ["BF16", 2],
      ["F64", 8],
      ["I64", 8],
    ] as const) {
      const data = new Uint8Array((tensor.data.byteLength / 4) * size);
      const message = messageFor(changed((given) => given.set(name, { ...tensor, dtype, data })));
      assert.equal(message, `router.safetensors: ${name} is ${dtype} [8,16], wanted F32 [8,16]`);
    }
  });
  test("a value that is not finite, in any tensor", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      for (const place of tensors().keys()) {
        assert.match(messageFor(withValue(place, value)), new RegExp(`: ${place} holds .* not finite$`));
      }
    }
  });
  test("a scale that is zero or negative", () => {
    for (const value of [0, -0, -1]) {
      assert.match(messageFor(withValue("transform.scaler_scale", value)), /scaler_scale holds a value ≤ 0/);
    }
    read(withValue("transform.scaler_mean", 0));
  });
});

function layersOf(member: Member): readonly Linear[] {
  if (member.kind !== "shared") throw new Error("wanted a shared trunk");
  return member.layers;
}
