// router.json (format_version 1) and its tensors → head weights. The metadata gives the dimensions, and every
// tensor is checked against them. It is the format of Switchyard's first prefill probe.
import * as z from "zod";
import { JudgeError } from "../errors.js";
import type { FeatureBlock, HeadWeights, Member } from "../head/weights.js";
import { parseJsonPart } from "./parse-json-part.js";
import type { SafetensorsFile } from "./safetensors.js";
import { createTensorReader } from "./tensor-reader.js";

/** No dimension of a head comes near this limit. A larger number is a damaged one. */
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

/** @throws JudgeError `checkpoint` that names the first field that is wrong */
export function parseRouterJson(content: unknown): RouterJson {
  const metadata = parseJsonPart(RouterJson, content, {
    file: "router.json",
    remedy: "use a checkpoint of format_version 1 or 2",
  });
  const refuse = (found: string, wanted?: string) =>
    new JudgeError("checkpoint", { place: "router.json", found, wanted });
  const duplicate = (values: readonly unknown[]) =>
    values.find((value, index) => values.indexOf(value) !== index);
  const output = duplicate(metadata.output_names);
  if (output !== undefined) throw refuse(`output_names holds ${JSON.stringify(output)} twice`);
  const layer = duplicate(metadata.extraction_layer_ids);
  if (layer !== undefined) throw refuse(`extraction_layer_ids holds ${layer} twice`);
  const rawSize = metadata.extraction_layer_ids.length * metadata.hidden_size;
  if (metadata.raw_feature_dim !== rawSize) {
    throw refuse(`raw_feature_dim is ${metadata.raw_feature_dim}`, `layers × hidden_size = ${rawSize}`);
  }
  return metadata;
}

/**
 * Builds the head from checked metadata and its tensors.
 * @throws JudgeError `checkpoint` for a tensor that is missing, unexpected, mis-shaped, not F32 or not
 *   finite, and for a scale ≤ 0
 */
export function readRouterTensors(metadata: RouterJson, file: SafetensorsFile): HeadWeights {
  const reader = createTensorReader(file);
  const { pca_dim: pcaSize, output_names: outputNames, trunk_hidden: trunk } = metadata;
  const rawSize = metadata.raw_feature_dim;
  const block: FeatureBlock = {
    layers: metadata.extraction_layer_ids,
    pooling: "mean",
    hiddenSize: metadata.hidden_size,
    combination: { kind: "concat" },
    scalerMean: reader.read("transform.scaler_mean", [rawSize]),
    scalerScale: reader.readScale("transform.scaler_scale", [rawSize]),
    pcaMean: reader.read("transform.pca_mean", [rawSize]),
    pcaSize,
    pcaComponents: reader.read("transform.pca_components", [pcaSize, rawSize]),
  };
  const members = Array.from({ length: metadata.ensemble_size }, (_, index): Member => {
    const name = `ensemble.${index}`;
    return {
      kind: "shared",
      layers: [
        reader.readLinear(`${name}.linear1`, pcaSize, trunk[0]),
        reader.readLinear(`${name}.linear2`, trunk[0], trunk[1]),
        reader.readLinear(`${name}.output`, trunk[1], outputNames.length),
      ],
    };
  });
  reader.finish();
  return { outputNames, blocks: [block], members, calibration: outputNames.map(() => null) };
}
