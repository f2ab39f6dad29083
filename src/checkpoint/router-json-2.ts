// Reads router.json of format_version 2. It is our own, and can say all that any public format says.
import * as z from "zod";
import { spaceRules, templates, truncations } from "../encoder/view.js";
import { JudgeError } from "../errors.js";
import { poolingModes } from "../features/pooling.js";
import {
  type Combination,
  combinationKinds,
  type FeatureBlock,
  type Member,
  rawSizeOf,
} from "../head/weights.js";
import { hasPrototypeKey } from "../input/prototype-key.js";
import { envelopeKinds, envelopeRules } from "../prompt/envelope.js";
import { judgedMessages } from "../prompt/judged-text.js";
import type { CheckpointContent } from "./checkpoint-content.js";
import { parseJsonPart } from "./parse-json-part.js";
import type { SafetensorsFile } from "./safetensors.js";
import { createTensorReader, type TensorReader } from "./tensor-reader.js";

const size = z.int().positive().max(10_000_000);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, { error: "wanted 64 hexadecimal digits" });
const outputName = z.string().min(1);

const Block = z.strictObject({
  layers: z
    .array(z.int().nonnegative())
    .min(1)
    .meta({ description: "hidden-state indices: 0 = embeddings, k = output of block k" }),
  pooling: z.enum(poolingModes),
  hidden_size: size,
  combination: z.enum(combinationKinds),
  pca_dim: size,
});

const Members = z.discriminatedUnion("kind", [
  z
    .strictObject({
      kind: z.literal("shared"),
      count: z.int().positive().max(1000),
      hidden: z.array(size).max(16),
    })
    .meta({ description: "dense layers of these widths with ReLU, then one value per output" }),
  z
    .strictObject({
      kind: z.literal("per_output"),
      count: z.int().positive().max(1000),
      adapter: size,
      trunk: size,
    })
    .meta({ description: "per output: head(relu(trunk(relu(adapter(features))))), the trunk shared" }),
]);

const Calibration = z.strictObject({ slope: z.number(), intercept: z.number() });

const OwnEnvelope = z.strictObject({
  client: z.string().min(1),
  kind: z.enum(envelopeKinds),
  start: z.string().min(1),
  end: z.string().min(1).nullable(),
});

export const RouterJson2 = z.strictObject({
  format_version: z.literal(2),
  encoder: z.strictObject({
    id: z.string().min(1),
    /** SHA-256 by file name, e.g. of model.onnx and tokenizer.json; empty where unknown */
    files: z.record(z.string(), sha256),
  }),
  view: z.strictObject({
    template: z.enum(templates).nullable(),
    template_sha256: sha256.nullable(),
    chat_template_kwargs: z.record(z.string(), z.json()),
    max_tokens: size.nullable(),
    truncation: z.enum(truncations).nullable(),
    message: z.enum(judgedMessages),
    spaces: z
      .enum(spaceRules)
      .optional()
      .meta({ description: "whether a run of spaces is read as one; absent: keep" }),
    envelopes: z
      .enum(envelopeRules)
      .optional()
      .meta({ description: "whether what clients put around the user's text is taken off; absent: keep" }),
    own_envelopes: z.array(OwnEnvelope).optional().meta({
      description: "markers of the training's own configuration, beside those that this project knows",
    }),
  }),
  blocks: z.array(Block).min(1),
  members: Members,
  output_names: z.array(outputName).min(1),
  calibration: z
    .array(Calibration.nullable())
    .meta({ description: "Platt calibration per output, on the logit of the mean" }),
  costs: z.record(outputName, z.number().nonnegative()).nullable(),
  training: z.record(z.string(), z.json()).meta({ description: "facts about the training, for readers" }),
  tensor_file: z.literal("router.safetensors"),
  /** SHA-256 of the tensor file, so that two files of different checkpoints are not read as one */
  tensor_sha256: sha256,
});
export type RouterJson2 = z.infer<typeof RouterJson2>;

/** The view that a head was trained on; a part is null where it is not known. */
export type TrainedView = Omit<RouterJson2["view"], "message" | "chat_template_kwargs">;

export interface RouterJson2Content extends CheckpointContent {
  readonly view: TrainedView;
  readonly encoderFiles: Readonly<Record<string, string>>;
  readonly training: RouterJson2["training"];
}

/** @throws JudgeError `checkpoint` that names the first field that is wrong */
export function parseRouterJson2(content: unknown): RouterJson2 {
  if (hasPrototypeKey(content)) throw refuse("holds the key __proto__, which is not known here");
  const metadata = parseJsonPart(RouterJson2, content, { file: "router.json" });
  const { output_names: names, calibration, costs, blocks } = metadata;
  const hasRepeated = (values: readonly unknown[]) => new Set(values).size < values.length;
  if (hasRepeated(names)) throw refuse("output_names holds a name twice");
  if (blocks.some(({ layers }) => hasRepeated(layers))) throw refuse("a block's layers hold a layer twice");
  if (calibration.length !== names.length)
    throw refuse(`calibration has ${calibration.length} entries`, `${names.length}`);
  if (costs !== null && names.some((name) => !Object.hasOwn(costs, name)))
    throw refuse("costs lacks an output");
  return metadata;
}

function refuse(found: string, wanted?: string): JudgeError {
  return new JudgeError("checkpoint", { place: "router.json", found, wanted });
}

/** @throws JudgeError `checkpoint` for a tensor that does not fit the metadata */
export function readRouterJson2(metadata: RouterJson2, file: SafetensorsFile): RouterJson2Content {
  const reader = createTensorReader(file);
  const outputNames = metadata.output_names;
  const blocks = metadata.blocks.map((block, index) => readBlock(reader, block, `blocks.${index}`));
  const featureSize = blocks.reduce((sum, block) => sum + block.pcaSize, 0);
  const members = Array.from({ length: metadata.members.count }, (_, index) =>
    readMember(reader, metadata, featureSize, `members.${index}`),
  );
  reader.finish();
  const { chat_template_kwargs: chatTemplateKwargs, message, ...view } = metadata.view;
  return {
    format: "router-json-2",
    encoderName: metadata.encoder.id,
    encoderFiles: metadata.encoder.files,
    head: { outputNames, blocks, members, calibration: metadata.calibration },
    costs: metadata.costs,
    chatTemplateKwargs,
    message,
    view,
    training: metadata.training,
  };
}

function readBlock(reader: TensorReader, block: z.infer<typeof Block>, name: string): FeatureBlock {
  const { layers, pooling, hidden_size: hiddenSize, pca_dim: pcaSize } = block;
  const layerShape = [layers.length, hiddenSize];
  const combination: Combination =
    block.combination === "concat"
      ? { kind: "concat" }
      : {
          kind: "standardised_mean",
          layerMean: reader.read(`${name}.layer_mean`, layerShape),
          layerScale: reader.readScale(`${name}.layer_scale`, layerShape),
        };
  const rawSize = rawSizeOf({ layers, hiddenSize, combination });
  return {
    layers,
    pooling,
    hiddenSize,
    combination,
    scalerMean: reader.read(`${name}.scaler_mean`, [rawSize]),
    scalerScale: reader.readScale(`${name}.scaler_scale`, [rawSize]),
    pcaMean: reader.read(`${name}.pca_mean`, [rawSize]),
    pcaSize,
    pcaComponents: reader.read(`${name}.pca_components`, [pcaSize, rawSize]),
  };
}

function readMember(reader: TensorReader, metadata: RouterJson2, featureSize: number, name: string): Member {
  const { members, output_names: outputNames } = metadata;
  if (members.kind === "shared") {
    const widths = [featureSize, ...members.hidden, outputNames.length];
    const layers = widths
      .slice(1)
      .map((width, index) => reader.readLinear(`${name}.layers.${index}`, widths[index]!, width));
    return { kind: "shared", layers };
  }
  return {
    kind: "per_output",
    adapters: outputNames.map((_, output) =>
      reader.readLinear(`${name}.adapters.${output}`, featureSize, members.adapter),
    ),
    trunk: reader.readLinear(`${name}.trunk`, members.adapter, members.trunk),
    heads: outputNames.map((_, output) => reader.readLinear(`${name}.heads.${output}`, members.trunk, 1)),
  };
}
