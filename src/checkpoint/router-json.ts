// router.json (format_version 1) + its tensors → head weights. Dimensions come from the metadata; every tensor is
// checked against them. Format: Switchyard's first prefill probe; sums in float64, tensors F32.
import * as z from "zod";
import { JudgeError } from "../errors.js";
import type { FeatureBlock, HeadWeights, Linear, Member } from "../head/weights.js";
import { type SafetensorsFile, toFloat32 } from "./safetensors.js";

/** No dimension of a head comes near; what is larger is a damaged number. */
const positiveInteger = z.int().positive().max(10_000_000);

const RouterJson = z.strictObject({
  format_version: z.literal(1),
  training_mode: z.literal("single_pca_block"),
  encoder: z.string().min(1),
  representation: z.literal("token_mean_per_layer_concat"),
  extraction_layer_ids: z.array(z.int().nonnegative()).min(1),
  hidden_size: positiveInteger,
  raw_feature_dim: positiveInteger,
  feature_block_count: z.literal(1),
  pca_dim: positiveInteger,
  pca_whiten: z.literal(false),
  output_names: z.array(z.string().min(1)).min(1),
  trunk_hidden: z.tuple([positiveInteger, positiveInteger]),
  ensemble_size: z.int().positive().max(1000),
  probability_link: z.literal("independent_sigmoid"),
  ensemble_reduction: z.literal("probability_mean"),
  tensor_file: z.literal("router.safetensors"),
});
export type RouterJson = z.infer<typeof RouterJson>;

/**
 * Checks the content of a router.json.
 *
 * @throws JudgeError `checkpoint` that names the first field that is wrong
 */
export function parseRouterJson(content: unknown): RouterJson {
  const result = RouterJson.safeParse(content);
  if (!result.success) {
    const issue = result.error.issues[0]!;
    const place = issue.path.join(".") || "the file";
    throw new JudgeError(
      "checkpoint",
      `router.json: ${place}: ${issue.message}; use a checkpoint of format_version 1`,
    );
  }
  const metadata = result.data;
  const duplicate = (values: readonly unknown[]) =>
    values.find((value, index) => values.indexOf(value) !== index);
  const output = duplicate(metadata.output_names);
  if (output !== undefined) {
    throw new JudgeError("checkpoint", `router.json: output_names holds ${JSON.stringify(output)} twice`);
  }
  const layer = duplicate(metadata.extraction_layer_ids);
  if (layer !== undefined) {
    throw new JudgeError("checkpoint", `router.json: extraction_layer_ids holds ${layer} twice`);
  }
  const rawSize = metadata.extraction_layer_ids.length * metadata.hidden_size;
  if (metadata.raw_feature_dim !== rawSize) {
    throw new JudgeError(
      "checkpoint",
      `router.json: raw_feature_dim is ${metadata.raw_feature_dim}, wanted layers × hidden_size = ${rawSize}`,
    );
  }
  return metadata;
}

/**
 * Builds the head from checked metadata and its tensors.
 *
 * @throws JudgeError `checkpoint` for a tensor that is missing, unexpected, mis-shaped, not F32 or not finite, and
 *   for a scale ≤ 0
 */
export function readRouterTensors(metadata: RouterJson, file: SafetensorsFile): HeadWeights {
  const unread = new Set(file.tensors.keys());
  const read = (name: string, shape: readonly number[]): Float32Array => {
    const tensor = file.tensors.get(name);
    if (tensor === undefined)
      throw new JudgeError("checkpoint", `router.safetensors: tensor ${name} is missing`);
    unread.delete(name);
    if (tensor.dtype !== "F32" || tensor.shape.join() !== shape.join()) {
      throw new JudgeError(
        "checkpoint",
        `router.safetensors: ${name} is ${tensor.dtype} [${tensor.shape}], wanted F32 [${shape}]`,
      );
    }
    const values = toFloat32(tensor);
    if (!values.every(Number.isFinite)) {
      throw new JudgeError("checkpoint", `router.safetensors: ${name} holds a value that is not finite`);
    }
    return values;
  };

  const block = readBlock(metadata, read);
  const members = Array.from({ length: metadata.ensemble_size }, (_, index) =>
    readMember(metadata, read, index),
  );
  if (unread.size > 0) {
    throw new JudgeError(
      "checkpoint",
      `router.safetensors: ${unread.size} tensor(s) that router.json does not name`,
    );
  }
  const calibration = metadata.output_names.map(() => null);
  return { outputNames: metadata.output_names, blocks: [block], members, calibration };
}

type ReadTensor = (name: string, shape: readonly number[]) => Float32Array;

function readBlock(metadata: RouterJson, read: ReadTensor): FeatureBlock {
  const rawSize = metadata.raw_feature_dim;
  const scalerScale = read("transform.scaler_scale", [rawSize]);
  if (scalerScale.some((scale) => scale <= 0)) {
    throw new JudgeError("checkpoint", "router.safetensors: transform.scaler_scale holds a value ≤ 0");
  }
  return {
    layers: metadata.extraction_layer_ids,
    pooling: "mean",
    hiddenSize: metadata.hidden_size,
    combination: { kind: "concat" },
    scalerMean: read("transform.scaler_mean", [rawSize]),
    scalerScale,
    pcaMean: read("transform.pca_mean", [rawSize]),
    pcaSize: metadata.pca_dim,
    pcaComponents: read("transform.pca_components", [metadata.pca_dim, rawSize]),
  };
}

function readMember(metadata: RouterJson, read: ReadTensor, index: number): Member {
  const readLinear = (name: string, inputSize: number, outputSize: number): Linear => ({
    inputSize,
    outputSize,
    weight: read(`ensemble.${index}.${name}.weight`, [outputSize, inputSize]),
    bias: read(`ensemble.${index}.${name}.bias`, [outputSize]),
  });
  const [first, second] = metadata.trunk_hidden;
  return {
    kind: "shared",
    layers: [
      readLinear("linear1", metadata.pca_dim, first),
      readLinear("linear2", first, second),
      readLinear("output", second, metadata.output_names.length),
    ],
  };
}
