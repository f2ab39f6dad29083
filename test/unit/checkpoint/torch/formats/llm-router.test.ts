// llm-router's checkpoints: what a good one becomes, and every way in which its parts may not fit together.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readLlmRouter } from "../../../../../src/checkpoint/torch/formats/llm-router.js";
import { parseTorchFile } from "../../../../../src/checkpoint/torch/torch-file.js";
import { refusal } from "../../../../support/refusal.js";
import {
  type Buildable,
  Float,
  Named,
  Numpy,
  sklearn,
  Tensor,
  Tuple,
  torchFile,
} from "../../../../support/torch/pickle-builder.js";

const parseLlmRouter = (bytes: Uint8Array) => readLlmRouter(parseTorchFile(bytes));

/** Members to replace; undefined takes one away. */
type Change = Readonly<Record<string, Buildable | undefined>>;

function merged(plain: Record<string, Buildable>, change: Change = {}): Record<string, Buildable> {
  const members = Object.entries({ ...plain, ...change });
  return Object.fromEntries(
    members.filter((member): member is [string, Buildable] => member[1] !== undefined),
  );
}

const ramp = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);

interface Changes {
  readonly root?: Change;
  readonly trunk?: Change;
  readonly state?: Change;
  readonly first?: Change;
  readonly scaler?: Change;
  readonly pca?: Change;
  readonly spec?: Change;
  readonly pool?: Change;
  readonly target?: Change;
}

const named = (name: string, members: Record<string, Buildable>) =>
  name === "pca"
    ? sklearn("decomposition._pca", "PCA", members)
    : sklearn("preprocessing._data", "StandardScaler", members);

/** Targets "a" and "b" on layers 1 (last) and 2 (mean) of an encoder of size 3, with 2 and 1 components. */
function versionTwo(changes: Changes = {}): Uint8Array {
  const transform = (layer: number, mode: string, size: number, change?: Changes) =>
    merged(
      {
        scaler: named(
          "scaler",
          merged(
            {
              with_mean: true,
              with_std: true,
              n_features_in_: 3,
              mean_: new Numpy([3], [1, 2, 3]),
              scale_: new Numpy([3], [1, 2, 4]),
            },
            change?.scaler,
          ),
        ),
        pca: named(
          "pca",
          merged(
            {
              whiten: false,
              n_components_: size,
              mean_: new Numpy([3], [0, 0, 0.5], { type: "f4" }),
              components_: new Numpy([size, 3], ramp(3 * size), { type: "f4" }),
              explained_variance_: new Numpy([size], ramp(size, 4), { type: "f4" }),
            },
            change?.pca,
          ),
        ),
        layer,
        mode,
        pca_dim: size,
        encoder: "e/x",
        chat_template_kwargs: { enable_thinking: false, a: [1, null] },
      },
      change?.first,
    );
  return torchFile(
    merged(
      {
        version: 2,
        model_names: ["a", "b"],
        transforms: { a: transform(1, "last", 2, changes), b: transform(2, "mean", 1) },
        ...trunkOf(3, changes),
        pool_config: poolOf(changes),
        cost_table: { a: { median_output_tokens: new Float(300) } },
      },
      changes.root,
    ),
  );
}

/** Targets "a" and "b" on layers 0 and 2 side by side, one block for both. */
function versionThree(changes: Changes = {}): Uint8Array {
  const transform = {
    scaler: named("scaler", {
      with_mean: true,
      with_std: true,
      mean_: new Numpy([6], ramp(6)),
      scale_: new Numpy([6], ramp(6)),
    }),
    pca: named("pca", {
      whiten: false,
      mean_: new Numpy([6], ramp(6)),
      components_: new Numpy([2, 6], ramp(12)),
    }),
    layer: 0,
    mode: "last",
    pca_dim: 2,
    encoder: "e/x",
    chat_template_kwargs: {},
    feature_spec: merged(
      {
        aggregation: "all_layers_concat",
        layers: [0, 2],
        pooling: "mean",
        pca_dim: 2,
        hidden_state_indexing: "direct",
      },
      changes.spec,
    ),
  };
  const trunk = { feature_layout: "shared_once", feature_width: 2, ...changes.trunk };
  return torchFile(
    merged(
      {
        version: 3,
        model_names: ["a", "b"],
        transforms: { a: merged(transform, changes.first), b: transform },
        ...trunkOf(2, { ...changes, trunk }),
        pool_config: poolOf(changes),
      },
      changes.root,
    ),
  );
}

function trunkOf(inputSize: number, changes: Changes): Record<string, Buildable> {
  const state = {
    "net.0.weight": new Tensor([4, inputSize], ramp(4 * inputSize)),
    "net.0.bias": new Tensor([4], ramp(4)),
    "net.3.weight": new Tensor([2, 4], ramp(8)),
    "net.3.bias": new Tensor([2], ramp(2)),
  };
  return {
    shared_trunk: [merged(state, changes.state), state],
    trunk_config: merged({ d_in: inputSize, n_outputs: 2, hidden: [4] }, changes.trunk),
  };
}

function poolOf(changes: Changes): Buildable {
  const target = (name: string, cost: Buildable) => ({ name, encoder: "e/x", cost_per_m_input_tokens: cost });
  return merged(
    {
      encoders: [{ hf_path: "e/x" }],
      targets: [merged(target("b", new Float(0.9)), changes.target), target("a", 0)],
    },
    changes.pool,
  );
}

test("version 2: one block for each target, in the order of the outputs", () => {
  const content = parseLlmRouter(versionTwo());
  assert.equal(content.format, "llm-router-2");
  assert.equal(content.encoderName, "e/x");
  assert.equal(content.message, "first");
  assert.deepEqual(content.costs, { a: 0, b: 0.9 });
  assert.deepEqual(content.chatTemplateKwargs, { a: [1, null], enable_thinking: false });
  const { outputNames, blocks, members, calibration } = content.head;
  assert.deepEqual(
    [outputNames, calibration],
    [
      ["a", "b"],
      [null, null],
    ],
  );
  assert.deepEqual(blocks[0], {
    layers: [1],
    pooling: "last",
    hiddenSize: 3,
    combination: { kind: "concat" },
    scalerMean: Float32Array.of(1, 2, 3),
    scalerScale: Float32Array.of(1, 2, 4),
    pcaMean: Float32Array.of(0, 0, 0.5),
    pcaSize: 2,
    pcaComponents: Float32Array.of(1, 2, 3, 4, 5, 6),
  });
  assert.deepEqual([blocks[1]?.layers, blocks[1]?.pooling, blocks[1]?.pcaSize], [[2], "mean", 1]);
  assert.equal(members.length, 2);
  assert.deepEqual(members[1], {
    kind: "shared",
    layers: [
      { inputSize: 3, outputSize: 4, weight: Float32Array.from(ramp(12)), bias: Float32Array.of(1, 2, 3, 4) },
      { inputSize: 4, outputSize: 2, weight: Float32Array.from(ramp(8)), bias: Float32Array.of(1, 2) },
    ],
  });
});

test("version 3, shared_once: the first target's block alone", () => {
  const content = parseLlmRouter(versionThree());
  assert.equal(content.format, "llm-router-3");
  const [block, ...others] = content.head.blocks;
  assert.equal(others.length, 0);
  assert.deepEqual(
    [block?.layers, block?.pooling, block?.hiddenSize, block?.pcaSize],
    [[0, 2], "mean", 3, 2],
  );
  assert.equal(content.head.outputNames.length, 2);
});

test("version 3, per_target: the blocks of all targets side by side", () => {
  const trunk = { feature_layout: undefined, feature_width: undefined, d_in: 4 };
  const state = {
    "net.0.weight": new Tensor([2, 4], ramp(8)),
    "net.0.bias": new Tensor([2], ramp(2)),
  };
  const shared_trunk = [state];
  const content = parseLlmRouter(versionThree({ trunk: { ...trunk, hidden: [] }, root: { shared_trunk } }));
  assert.deepEqual(
    content.head.blocks.map(({ layers, pcaSize }) => [layers, pcaSize]),
    [
      [[0, 2], 2],
      [[0, 2], 2],
    ],
  );
});

test("a whitened PCA is folded into its components", () => {
  const content = parseLlmRouter(versionTwo({ pca: { whiten: true } }));
  const [four, five] = [Math.sqrt(4), Math.sqrt(5)];
  assert.deepEqual(
    content.head.blocks[0]!.pcaComponents,
    Float32Array.of(1 / four, 2 / four, 3 / four, 4 / five, 5 / five, 6 / five),
  );
});

test("components in Fortran's order and transposed trunks are read as what they mean", () => {
  const components = new Numpy([2, 3], [1, 4, 2, 5, 3, 6], { type: "f4", fortran: true });
  const bias = new Tensor([4], [1, 9, 2, 9, 3, 9, 4], { strides: [2] });
  const weight = new Tensor([4, 3], [1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12], { strides: [1, 4] });
  const changed = { pca: { components_: components }, state: { "net.0.weight": weight, "net.0.bias": bias } };
  assert.deepEqual(parseLlmRouter(versionTwo(changed)), parseLlmRouter(versionTwo()));
});

test("components fewer than pca_dim, as of few samples, are read", () => {
  assert.equal(parseLlmRouter(versionTwo({ first: { pca_dim: 200 } })).head.blocks[0]?.pcaSize, 2);
});

test("trunks of no, one and three hidden layers: dropout stands behind the first two alone", () => {
  const dense = (name: string, rows: number, columns: number) => ({
    [`net.${name}.weight`]: new Tensor([rows, columns], ramp(rows * columns)),
    [`net.${name}.bias`]: new Tensor([rows], ramp(rows)),
  });
  const shapes: readonly (readonly [hidden: number[], state: Record<string, Buildable>])[] = [
    [[], dense("0", 2, 3)],
    [[5, 4, 3], { ...dense("0", 5, 3), ...dense("3", 4, 5), ...dense("6", 3, 4), ...dense("8", 2, 3) }],
  ];
  for (const [hidden, state] of shapes) {
    const trunk_config = { d_in: 3, n_outputs: 2, hidden: new Tuple(hidden) };
    const content = parseLlmRouter(versionTwo({ root: { shared_trunk: [state], trunk_config } }));
    const member = content.head.members[0]!;
    assert.ok(member.kind === "shared");
    assert.deepEqual(
      member.layers.map(({ outputSize }) => outputSize),
      [...hidden, 2],
    );
  }
});

test("costs are null unless every output has one: the head is the same without them", () => {
  const target = (name: string, price: Buildable) => ({ name, cost_per_m_input_tokens: price });
  for (const pool of [
    { targets: ["a", "b"].map((name) => ({ name })) },
    { targets: [target("a", 1)] },
    { targets: [target("a", 1), { name: "b" }] },
    { targets: [target("a", 1), target("b", null)] },
    { targets: [] },
    { targets: null },
    { targets: undefined },
  ]) {
    const { costs, head } = parseLlmRouter(versionTwo({ pool }));
    assert.equal(costs, null);
    assert.deepEqual(head.outputNames, ["a", "b"]);
  }
  assert.deepEqual(
    parseLlmRouter(versionTwo({ pool: { targets: [target("b", 2), target("a", 1)] } })).costs,
    { a: 1, b: 2 },
  );
});

const two = (changes: Changes) => versionTwo(changes);
const three = (changes: Changes) => versionThree(changes);
const notFinite = (value: number) => new Numpy([3], [1, value, 3]);

const attacks: readonly (readonly [attack: string, bytes: Uint8Array, message: RegExp])[] = [
  ["a list at the root", torchFile([1]), /llm-router: found a list of 1, wanted a dict/],
  ["version 1", two({ root: { version: 1 } }), /found version 1, wanted 2 or 3/],
  ["no version", two({ root: { version: undefined } }), /llm-router\.version: found nothing/],
  [
    "version 2 with feature specs",
    three({ root: { version: 2 } }),
    /feature_layout: .*wanted per_target|feature_spec/,
  ],
  ["version 3 without a feature spec", two({ root: { version: 3 } }), /feature_spec: found it in 0 targets/],
  [
    "an unknown member",
    two({ root: { calibration: 1 } }),
    /llm-router\.calibration: found a member that the format does not know/,
  ],
  ["no targets", two({ root: { model_names: [] } }), /model_names: found an empty list/],
  ["a target twice", two({ root: { model_names: ["a", "a"] } }), /model_names: found "a" twice/],
  [
    "a target without a transform",
    two({ root: { model_names: ["a", "c"] } }),
    /transforms\.c: found nothing/,
  ],
  ["a transform without a target", two({ root: { model_names: ["a"] } }), /transforms\.b: found a member/],
  [
    "a name that is no text",
    two({ root: { model_names: ["a", 7] } }),
    /model_names: found 7 in it, wanted texts/,
  ],
  ["no trunk", two({ root: { shared_trunk: [] } }), /shared_trunk: found 0 members/],
  [
    "a trunk that is no dict",
    two({ root: { shared_trunk: [1] } }),
    /shared_trunk\.0: found 1, wanted a dict/,
  ],
  ["another input size", two({ trunk: { d_in: 4 } }), /trunk_config\.d_in: found 4, wanted 3/],
  ["another number of outputs", two({ trunk: { n_outputs: 3 } }), /n_outputs: found 3, wanted 2/],
  ["another hidden size", two({ trunk: { hidden: [5] } }), /net\.0\.weight: found \[4,3\], wanted \[5,3\]/],
  [
    "another number of hidden layers",
    two({ trunk: { hidden: [4, 4] } }),
    /dense layers at net\.\[0,3\], wanted 3/,
  ],
  ["a hidden size of 0", two({ trunk: { hidden: [0] } }), /hidden: found 0, wanted an integer from 1/],
  [
    "an unknown member of the trunk's config",
    two({ trunk: { activation: "gelu" } }),
    /trunk_config\.activation: found a member/,
  ],
  [
    "another feature width",
    three({ trunk: { feature_width: 3 } }),
    /feature_width: found another size than d_in, wanted 2/,
  ],
  [
    "an unknown layout",
    two({ trunk: { feature_layout: "mean" } }),
    /feature_layout: found "mean", wanted per_target/,
  ],
  [
    "shared_once in version 2",
    two({ trunk: { feature_layout: "shared_once" } }),
    /feature_layout: found "shared_once"/,
  ],
  ["a missing bias", two({ state: { "net.3.bias": undefined } }), /net\.3\.bias: found nothing/],
  ["a missing weight", two({ state: { "net.3.weight": undefined } }), /dense layers at net\.\[0\], wanted 2/],
  [
    "an extra tensor",
    two({ state: { "net.4.running_mean": new Tensor([2], [1, 2]) } }),
    /"?net\.4\.running_mean"?: found a member/,
  ],
  [
    "a dense layer in the place of a ReLU",
    two({ state: { "net.1.weight": new Tensor([2, 4], ramp(8)), "net.3.weight": undefined } }),
    /dense layers at net\.\[0,1\]/,
  ],
  [
    "a bias of another size",
    two({ state: { "net.3.bias": new Tensor([3], ramp(3)) } }),
    /net\.3\.bias: found \[3\], wanted \[2\]/,
  ],
  [
    "a transposed weight",
    two({ state: { "net.0.weight": new Tensor([3, 4], ramp(12)) } }),
    /found \[3,4\], wanted \[4,3\]/,
  ],
  [
    "a weight that is not finite",
    two({ state: { "net.3.bias": new Tensor([2], [1, Number.NaN]) } }),
    /net\.3\.bias: found a value that is no finite float32/,
  ],
  [
    "a weight beyond float32",
    two({ state: { "net.3.bias": new Tensor([2], [1, 1e300], { type: "Double" }) } }),
    /no finite float32/,
  ],
  [
    "weights of integers",
    two({ state: { "net.3.bias": new Tensor([2], [1, 2], { type: "Long" }) } }),
    /found I64 \[2\], wanted floating-point numbers/,
  ],
  [
    "a weight of three dimensions",
    two({ state: { "net.3.bias": new Tensor([1, 1, 2], [1, 2]) } }),
    /found F32 \[1,1,2\], wanted floating-point/,
  ],
  ["a text for a weight", two({ state: { "net.3.bias": "none" } }), /found "none", wanted floating-point/],
  ["no scaler", two({ first: { scaler: undefined } }), /transforms\.a\.scaler: found nothing/],
  [
    "scaler and PCA the wrong way round",
    two({ first: { scaler: named("pca", {}) } }),
    /scaler: found an object of sklearn\.decomposition\._pca\.PCA, wanted an object of sklearn\.preprocessing/,
  ],
  [
    "a scaler without attributes",
    two({ first: { scaler: new Named("sklearn.preprocessing._data", "StandardScaler") } }),
    /scaler: found "sklearn/,
  ],
  [
    "a scaler without deviations",
    two({ scaler: { with_std: false } }),
    /with_std: found false, wanted true; only that is known here/,
  ],
  ["a scaler without means", two({ scaler: { with_mean: false } }), /with_mean: found false/],
  [
    "a scaler fitted without means",
    two({ scaler: { mean_: null } }),
    /mean_: found None, wanted floating-point/,
  ],
  ["a deviation of 0", two({ scaler: { scale_: notFinite(0) } }), /scale_: found a value ≤ 0/],
  ["a negative deviation", two({ scaler: { scale_: notFinite(-1) } }), /scale_: found a value ≤ 0/],
  [
    "a deviation that is 0 in float32",
    two({ scaler: { scale_: notFinite(1e-60) } }),
    /scale_: found a value ≤ 0 as float32/,
  ],
  [
    "a mean that is not finite",
    two({ scaler: { mean_: notFinite(Number.POSITIVE_INFINITY) } }),
    /mean_: found a value that is no finite float32/,
  ],
  [
    "deviations of another size",
    two({ scaler: { scale_: new Numpy([2], [1, 2]) } }),
    /scale_: found \[2\], wanted \[3\]/,
  ],
  [
    "a count of features that is not so",
    two({ scaler: { n_features_in_: 4 } }),
    /n_features_in_: found 4, wanted 3/,
  ],
  [
    "targets of two hidden sizes",
    two({
      scaler: { n_features_in_: undefined, mean_: new Numpy([2], [1, 2]), scale_: new Numpy([2], [1, 2]) },
      pca: { mean_: new Numpy([2], [1, 2]), components_: new Numpy([2, 2], ramp(4)) },
    }),
    /hidden size 2 and 3, wanted one/,
  ],
  [
    "a PCA of another size than the scaler",
    two({ pca: { components_: new Numpy([2, 4], ramp(8)) } }),
    /components_: found \[2,4\], wanted \[2,3\]/,
  ],
  [
    "components in one dimension",
    two({ pca: { components_: new Numpy([3], ramp(3)) } }),
    /components_: found \[3\], wanted 2 dimensions/,
  ],
  [
    "a PCA mean of another size",
    two({ pca: { mean_: new Numpy([2], [1, 2]) } }),
    /mean_: found \[2\], wanted \[3\]/,
  ],
  [
    "more components than pca_dim",
    two({ first: { pca_dim: 1 } }),
    /found 2 components, wanted at most pca_dim, 1/,
  ],
  [
    "a count of components that is not so",
    two({ pca: { n_components_: 3 } }),
    /n_components_: found 3, wanted 2/,
  ],
  ["whitening that is no flag", two({ pca: { whiten: 1 } }), /whiten: found 1, wanted True or False/],
  [
    "whitening without variances",
    two({ pca: { whiten: true, explained_variance_: undefined } }),
    /explained_variance_: found nothing/,
  ],
  [
    "whitening by 0",
    two({ pca: { whiten: true, explained_variance_: new Numpy([2], [1, 0]) } }),
    /explained_variance_: found a value ≤ 0/,
  ],
  [
    "whitening by next to 0",
    two({
      pca: {
        whiten: true,
        components_: new Numpy(
          [2, 3],
          ramp(6).map((value) => value * 1e37),
        ),
        explained_variance_: new Numpy([2], [1e-40, 1]),
      },
    }),
    /variance too small/,
  ],
  ["an unknown pooling", two({ first: { mode: "max" } }), /mode: found "max", wanted last or mean/],
  ["a layer below 0", two({ first: { layer: -1 } }), /layer: found the layer -1, wanted an integer from 0/],
  ["a layer of 2 billion", two({ first: { layer: 2 ** 31 - 1 } }), /layer 2147483647/],
  [
    "an unknown member of a transform",
    two({ first: { normalise: true } }),
    /transforms\.a\.normalise: found a member/,
  ],
  ["two encoders", two({ first: { encoder: "e/y" } }), /found 2 encoders, wanted one/],
  [
    "two templates",
    two({ first: { chat_template_kwargs: { x: 1 } } }),
    /chat_template_kwargs: found 2 kinds/,
  ],
  [
    "a template argument that is no JSON",
    two({ first: { chat_template_kwargs: { x: new Tensor([1], [1]) } } }),
    /chat_template_kwargs: found F32 \[1\], wanted JSON values/,
  ],
  [
    "a template argument that is not finite",
    two({ first: { chat_template_kwargs: { x: new Float(Number.NaN) } } }),
    /found NaN, wanted JSON values/,
  ],
  [
    "2,000 template arguments",
    two({ first: { chat_template_kwargs: { x: ramp(2000) } } }),
    /more than 1000 values/,
  ],
  [
    "a name that is no name",
    two({ first: { [`${"x".repeat(300)}\n`]: 1 } }),
    /transforms\.a\."x{80}": found a member/,
  ],
  [
    "an unknown aggregation",
    three({ spec: { aggregation: "mean" } }),
    /aggregation: found "mean" of 2 layers/,
  ],
  [
    "single_layer of two layers",
    three({ spec: { aggregation: "single_layer" } }),
    /"single_layer" of 2 layers/,
  ],
  [
    "layers that were never resolved",
    three({ spec: { layers: "all" } }),
    /layers: found "all", wanted a list/,
  ],
  ["no layers", three({ spec: { layers: [] } }), /layers: found an empty list/],
  ["a layer twice", three({ spec: { layers: [1, 1] } }), /layers: found 1 twice/],
  [
    "layers that do not divide the features",
    three({ spec: { layers: [0, 1, 2, 3] } }),
    /found 6 values, wanted a multiple of the 4 layers/,
  ],
  [
    "another indexing of layers",
    three({ spec: { hidden_state_indexing: "offset" } }),
    /hidden_state_indexing: found "offset", wanted "direct"/,
  ],
  ["an unknown member of a spec", three({ spec: { weights: [1] } }), /feature_spec\.weights: found a member/],
  ["more components than the spec's pca_dim", three({ spec: { pca_dim: 1 } }), /wanted at most pca_dim, 1/],
  ["no pool", two({ root: { pool_config: undefined } }), /pool_config: found nothing/],
  [
    "a pool of another encoder",
    two({ pool: { encoders: [{ hf_path: "e/y" }] } }),
    /encoders\.0\.hf_path: found "e\/y", wanted "e\/x"/,
  ],
  ["a target of another encoder", two({ target: { encoder: "e/y" } }), /targets\.0\.encoder: found "e\/y"/],
  [
    "a pool of a model that is none",
    two({ target: { name: "c" } }),
    /targets\.0\.name: found a target that is none/,
  ],
  ["a model twice in the pool", two({ target: { name: "a" } }), /targets\.1\.name: found a target/],
  [
    "a negative price",
    two({ target: { cost_per_m_input_tokens: -1 } }),
    /cost_per_m_input_tokens: found -1, wanted a number from 0/,
  ],
  [
    "a price that is not finite",
    two({ target: { cost_per_m_input_tokens: new Float(Number.POSITIVE_INFINITY) } }),
    /found Infinity/,
  ],
];

describe("an llm-router checkpoint is refused for:", () => {
  for (const [attack, bytes, message] of attacks) {
    test(attack, () => {
      const error = refusal("checkpoint", () => parseLlmRouter(bytes));
      assert.match(error.message, message);
      assert.match(error.message, /^llm-router.*found .*, wanted .*; /);
      assert.ok(error.message.length < 300, error.message);
    });
  }
});
