// Switchyard 0.3.0's checkpoints: what a good one becomes, and every way in which its parts may not fit
// together.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readSwitchyard } from "../../../../../src/checkpoint/torch/formats/switchyard.js";
import { parseTorchCheckpoint } from "../../../../../src/checkpoint/torch/torch-checkpoint.js";
import { parseTorchFile } from "../../../../../src/checkpoint/torch/torch-file.js";
import { refusal } from "../../../../support/refusal.js";
import {
  type Buildable,
  pickleOf,
  Raw,
  Tensor,
  torchFile,
  torchZip,
  write,
} from "../../../../support/torch/pickle-builder.js";

const parseSwitchyard = (bytes: Uint8Array) => readSwitchyard(parseTorchFile(bytes));

/** Members to replace; undefined takes one away. */
type Change = Readonly<Record<string, Buildable | undefined>>;

function merged(plain: Record<string, Buildable>, change: Change = {}): Record<string, Buildable> {
  const members = Object.entries({ ...plain, ...change });
  return Object.fromEntries(
    members.filter((member): member is [string, Buildable] => member[1] !== undefined),
  );
}

const ramp = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);
const double = (shape: readonly number[], values: readonly number[]) =>
  new Tensor(shape, values, { type: "Double" });

interface Changes {
  readonly root?: Change;
  readonly encoder?: Change;
  readonly architecture?: Change;
  readonly pipeline?: Change;
  readonly layerMean?: Change;
  readonly layerStd?: Change;
  readonly state?: Change;
}

/** Outputs "a" and "b" on layers 4 and 1 of an encoder of size 3; 2 components, adapters of 4, trunk of 5. */
function checkpoint(changes: Changes = {}): Uint8Array {
  return torchFile(contentOf(changes));
}

function contentOf(changes: Changes): Record<string, Buildable> {
  const dense = (name: string, rows: number, columns: number) => ({
    [`${name}.weight`]: new Tensor([rows, columns], ramp(rows * columns)),
    [`${name}.bias`]: new Tensor([rows], ramp(rows)),
  });
  const state = {
    ...dense("adapters.0", 4, 2),
    ...dense("heads.0", 1, 5),
    ...dense("adapters.1", 4, 2),
    ...dense("heads.1", 1, 5),
    ...dense("trunk.0", 5, 4),
  };
  const layers = (first: number) => ({
    "1": new Tensor([3], ramp(3, first)),
    "4": new Tensor([3], ramp(3, first + 10)),
  });
  return merged(
    {
      format_version: 1,
      encoder: merged({ name: "e/x", n_layers: 4, hidden_dim: 3, view: "task_prompt_only" }, changes.encoder),
      architecture: merged(
        { activation: "ReLU", ensemble_reduction: "mean(sigmoid(logits))", adapter_dim: 4, trunk_dim: 5 },
        changes.architecture,
      ),
      feature_pipeline: merged(
        {
          pooling: "mean of independently standardized selected layers",
          selected_layers: [4, 1],
          layer_mean: merged(layers(0), changes.layerMean),
          layer_std: merged(layers(1), changes.layerStd),
          scaler_mean: double([3], [1, 2, 3]),
          scaler_scale: double([3], [1, 2, 4]),
          pca_mean: double([3], [0, 0, 0.5]),
          pca_components: double([2, 3], ramp(6)),
        },
        changes.pipeline,
      ),
      models: ["a", "b"],
      model_state_dicts: [merged(state, changes.state), state],
    },
    changes.root,
  );
}

test("a checkpoint becomes one block of standardised layers and members with adapters", () => {
  const content = parseSwitchyard(checkpoint());
  assert.equal(content.format, "switchyard-0.3.0");
  assert.deepEqual([content.encoderName, content.message, content.costs], ["e/x", "latest", null]);
  assert.deepEqual(content.chatTemplateKwargs, {});
  const { outputNames, blocks, members, calibration } = content.head;
  assert.deepEqual(
    [outputNames, calibration],
    [
      ["a", "b"],
      [null, null],
    ],
  );
  assert.deepEqual(blocks, [
    {
      layers: [4, 1],
      pooling: "last",
      hiddenSize: 3,
      combination: {
        kind: "standardised_mean",
        layerMean: Float32Array.of(10, 11, 12, 0, 1, 2),
        layerScale: Float32Array.of(11, 12, 13, 1, 2, 3),
      },
      scalerMean: Float32Array.of(1, 2, 3),
      scalerScale: Float32Array.of(1, 2, 4),
      pcaMean: Float32Array.of(0, 0, 0.5),
      pcaSize: 2,
      pcaComponents: Float32Array.of(1, 2, 3, 4, 5, 6),
    },
  ]);
  assert.equal(members.length, 2);
  const member = members[0]!;
  assert.ok(member.kind === "per_output");
  assert.deepEqual(
    member.adapters.map(({ inputSize, outputSize }) => [inputSize, outputSize]),
    [
      [2, 4],
      [2, 4],
    ],
  );
  assert.deepEqual([member.trunk.inputSize, member.trunk.outputSize], [4, 5]);
  assert.deepEqual(member.heads[1]?.weight, Float32Array.of(1, 2, 3, 4, 5));
});

test("descriptions that nothing is computed with may be more or fewer", () => {
  const described = checkpoint({
    encoder: { revision: "main" },
    architecture: { adapter_dim: undefined, trunk_dim: undefined, dropout: 1 },
  });
  assert.deepEqual(parseSwitchyard(described), parseSwitchyard(checkpoint()));
});

const attacks: readonly (readonly [attack: string, changes: Changes, message: RegExp])[] = [
  ["another version", { root: { format_version: 2 } }, /format_version: found 2, wanted 1/],
  ["a version that is a flag", { root: { format_version: true } }, /format_version: found true, wanted 1/],
  ["no encoder", { root: { encoder: undefined } }, /encoder: found nothing/],
  ["an unknown member", { root: { calibration: 1 } }, /switchyard\.calibration: found a member/],
  [
    "another view",
    { encoder: { view: "conversation" } },
    /view: found "conversation", wanted "task_prompt_only"/,
  ],
  ["an encoder without a name", { encoder: { name: "" } }, /name: found "", wanted a text/],
  ["another activation", { architecture: { activation: "GELU" } }, /activation: found "GELU", wanted "ReLU"/],
  [
    "another reduction",
    { architecture: { ensemble_reduction: "sigmoid(mean(logits))" } },
    /ensemble_reduction: found/,
  ],
  ["another adapter size", { architecture: { adapter_dim: 5 } }, /adapter_dim: found 5, wanted 4/],
  ["another trunk size", { architecture: { trunk_dim: 4 } }, /trunk_dim: found 4, wanted 5/],
  [
    "another pooling",
    { pipeline: { pooling: "token mean" } },
    /pooling: found "token mean", wanted "mean of indep/,
  ],
  ["no layers", { pipeline: { selected_layers: [] } }, /selected_layers: found an empty list/],
  ["a layer twice", { pipeline: { selected_layers: [4, 4] } }, /selected_layers: found 4 twice/],
  ["a layer counted from the end", { pipeline: { selected_layers: [-1] } }, /found the layer -1/],
  [
    "a layer that the encoder lacks",
    { encoder: { n_layers: 3 } },
    /selected_layers: found 4, wanted at most 3/,
  ],
  ["a layer without a mean", { layerMean: { "4": undefined } }, /layer_mean\.4: found nothing/],
  ["a layer without a deviation", { layerStd: { "1": undefined } }, /layer_std\.1: found nothing/],
  [
    "a mean of a layer that is not selected",
    { layerMean: { "2": new Tensor([3], ramp(3)) } },
    /layer_mean\.2: found a member/,
  ],
  [
    "a mean of another size",
    { layerMean: { "4": new Tensor([4], ramp(4)) } },
    /layer_mean\.4: found \[4\], wanted \[3\]/,
  ],
  ["a deviation of 0", { layerStd: { "4": new Tensor([3], [1, 0, 1]) } }, /layer_std\.4: found a value ≤ 0/],
  ["a scale of 0", { pipeline: { scaler_scale: double([3], [1, 0, 1]) } }, /scaler_scale: found a value ≤ 0/],
  [
    "a mean that is not finite",
    { pipeline: { scaler_mean: double([3], [1, Number.NaN, 1]) } },
    /scaler_mean: found a value that is no finite/,
  ],
  [
    "a hidden size that is not so",
    { encoder: { hidden_dim: 4 } },
    /layer_mean\.4: found \[3\], wanted \[4\]/,
  ],
  [
    "components of another size",
    { pipeline: { pca_components: double([2, 4], ramp(8)) } },
    /pca_components: found \[2,4\], wanted \[2,3\]/,
  ],
  [
    "components in one dimension",
    { pipeline: { pca_components: double([3], ramp(3)) } },
    /pca_components: found \[3\], wanted 2 dimensions/,
  ],
  [
    "a PCA mean of another size",
    { pipeline: { pca_mean: double([2], ramp(2)) } },
    /pca_mean: found \[2\], wanted \[3\]/,
  ],
  [
    "an unknown member of the pipeline",
    { pipeline: { whiten: true } },
    /feature_pipeline\.whiten: found a member/,
  ],
  [
    "a list for the pipeline",
    { root: { feature_pipeline: [] } },
    /feature_pipeline: found a list of 0, wanted a dict/,
  ],
  ["no outputs", { root: { models: [] } }, /models: found an empty list/],
  ["an output twice", { root: { models: ["a", "a"] } }, /models: found "a" twice/],
  ["an output too many", { root: { models: ["a", "b", "c"] } }, /adapters\.2\.weight: found nothing/],
  ["an output too few", { root: { models: ["a"] } }, /adapters\.1\.weight: found a member/],
  ["no members", { root: { model_state_dicts: [] } }, /model_state_dicts: found 0 members/],
  [
    "a member that is no dict",
    { root: { model_state_dicts: ["x"] } },
    /model_state_dicts\.0: found "x", wanted a dict/,
  ],
  ["a missing trunk", { state: { "trunk.0.weight": undefined } }, /trunk\.0\.weight: found nothing/],
  [
    "a trunk of one dimension",
    { state: { "trunk.0.weight": new Tensor([20], ramp(20)) } },
    /trunk\.0\.weight: found \[20\], wanted 2/,
  ],
  [
    "an adapter of another output size",
    { state: { "adapters.1.weight": new Tensor([5, 2], ramp(10)) } },
    /adapters\.1\.weight: found \[5,2\], wanted \[4,2\]/,
  ],
  [
    "an adapter of another input size",
    { state: { "adapters.0.weight": new Tensor([4, 3], ramp(12)) } },
    /adapters\.0\.weight: found \[4,3\], wanted \[4,2\]/,
  ],
  [
    "a head of two rows",
    { state: { "heads.0.weight": new Tensor([2, 5], ramp(10)) } },
    /heads\.0\.weight: found \[2,5\], wanted \[1,5\]/,
  ],
  ["a missing bias", { state: { "heads.1.bias": undefined } }, /heads\.1\.bias: found nothing/],
  [
    "an extra tensor",
    { state: { "trunk.2.weight": new Tensor([1], [1]) } },
    /trunk\.2\.weight: found a member/,
  ],
  [
    "a weight that is not finite",
    { state: { "heads.0.bias": new Tensor([1], [Number.NEGATIVE_INFINITY]) } },
    /heads\.0\.bias: found a value that is no finite/,
  ],
];

describe("a Switchyard checkpoint is refused for:", () => {
  for (const [attack, changes, message] of attacks) {
    test(attack, () => {
      const error = refusal("checkpoint", () => parseSwitchyard(checkpoint(changes)));
      assert.match(error.message, message);
      assert.match(error.message, /^switchyard.*found .*, wanted .*; /);
      assert.ok(error.message.length < 300, error.message);
    });
  }
});

test("one member named 500 times is refused: a file does not grow as it is read", () => {
  const storages = new Map<string, Uint8Array>();
  const { model_state_dicts: states, ...others } = contentOf({});
  const [state] = states as readonly Buildable[];
  const kept = new Raw([
    ...write(state!, storages),
    0x71,
    0,
    ...Array.from({ length: 499 }, () => [0x68, 0]).flat(),
  ]);
  const bytes = torchZip(pickleOf(write({ ...others, model_state_dicts: [kept] }, storages)), storages);
  const error = refusal("checkpoint", () => parseSwitchyard(bytes));
  assert.match(error.message, /found bytes used again and again, wanted each used once/);
});

describe("a torch file is told by its content:", () => {
  test("Switchyard's", () => assert.equal(parseTorchCheckpoint(checkpoint()).format, "switchyard-0.3.0"));
  for (const [kind, root, message] of [
    [
      "a bare state dict",
      { "net.0.weight": new Tensor([1], [1]) },
      /found a dict of 1 with "net\.0\.weight", wanted transforms/,
    ],
    ["an empty dict", {}, /found a dict of 0 with nothing, wanted/],
    ["a list", [1], /found a list of 1, wanted a dict/],
    ["a tensor", new Tensor([1], [1]), /found F32 \[1\], wanted a dict/],
  ] as const) {
    test(`${kind} is neither`, () => {
      const error = refusal("checkpoint", () => parseTorchCheckpoint(torchFile(root)));
      assert.match(error.message, message);
      assert.match(error.message, /^torch checkpoint: /);
    });
  }
});
