// The prefill_router checkpoint (.pt) of Switchyard 0.3.0, format_version 1 → checkpoint content. Every
// dimension is checked against the others. A member that the format does not know is refused.
// Format: the loader of NVIDIA-NeMo/Switchyard 0.3.0. It takes the last token, whatever the label says.
import type { FeatureBlock, Member } from "../../../head/weights.js";
import type { CheckpointContent } from "../../checkpoint-content.js";
import { Fields } from "../pickle/fields.js";
import { type FloatReader, shapeOf } from "../pickle/float-reader.js";
import type { TorchFile } from "../torch-file.js";
import { memberStates } from "./member-states.js";

/** @throws JudgeError `checkpoint` that names what is missing, extra, mis-shaped or not supported */
export function readSwitchyard(file: TorchFile): CheckpointContent {
  const root = Fields.of(file.root, "switchyard");
  root.expect("format_version", 1);
  const encoder = root.fields("encoder");
  encoder.expect("view", "task_prompt_only");
  const encoderName = encoder.text("name");
  const outputNames = root.texts("models");
  const block = readBlock(root.fields("feature_pipeline"), encoder, file.floats);
  const members = readMembers(root, block.pcaSize, outputNames.length, file.floats);
  root.end();
  return {
    format: "switchyard-0.3.0",
    encoderName,
    head: { outputNames, blocks: [block], members, calibration: outputNames.map(() => null) },
    costs: null,
    chatTemplateKwargs: {},
    message: "latest",
  };
}

function readBlock(pipeline: Fields, encoder: Fields, floats: FloatReader): FeatureBlock {
  pipeline.expect("pooling", "mean of independently standardized selected layers");
  const hiddenSize = encoder.size("hidden_dim");
  const layerCount = encoder.size("n_layers");
  const layers = pipeline.layers("selected_layers");
  const beyond = layers.find((layer) => layer > layerCount);
  if (beyond !== undefined) {
    throw pipeline.refusal("selected_layers", `${beyond}`, `at most ${layerCount}, the encoder's layers`);
  }
  const [pcaSize] = shapeOf(pipeline, "pca_components", 2);
  const means = pipeline.fields("layer_mean");
  const scales = pipeline.fields("layer_std");
  const block: FeatureBlock = {
    layers,
    pooling: "last",
    hiddenSize,
    combination: {
      kind: "standardised_mean",
      layerMean: joined(layers, (layer) => floats.read(means, layer, [hiddenSize])),
      layerScale: joined(layers, (layer) => floats.readScale(scales, layer, hiddenSize)),
    },
    scalerMean: floats.read(pipeline, "scaler_mean", [hiddenSize]),
    scalerScale: floats.readScale(pipeline, "scaler_scale", hiddenSize),
    pcaMean: floats.read(pipeline, "pca_mean", [hiddenSize]),
    pcaSize,
    pcaComponents: floats.read(pipeline, "pca_components", [pcaSize, hiddenSize]),
  };
  for (const fields of [means, scales, pipeline]) fields.end();
  return block;
}

/** The vectors of all layers, each under its layer's number as a text → [layers × hiddenSize]. */
function joined(layers: readonly number[], read: (layer: string) => Float32Array): Float32Array {
  const vectors = layers.map((layer) => read(String(layer)));
  const values = new Float32Array(vectors.reduce((size, vector) => size + vector.length, 0));
  let offset = 0;
  for (const vector of vectors) {
    values.set(vector, offset);
    offset += vector.length;
  }
  return values;
}

function readMembers(root: Fields, pcaSize: number, outputCount: number, floats: FloatReader): Member[] {
  const architecture = root.fields("architecture");
  architecture.expect("activation", "ReLU");
  architecture.expect("ensemble_reduction", "mean(sigmoid(logits))");
  return memberStates(root, "model_state_dicts").map((state) => {
    const [trunkSize, adapterSize] = shapeOf(state, "trunk.0.weight", 2);
    if (architecture.has("adapter_dim")) architecture.expect("adapter_dim", adapterSize);
    if (architecture.has("trunk_dim")) architecture.expect("trunk_dim", trunkSize);
    const forEach = (name: string, inputSize: number, outputSize: number) =>
      Array.from({ length: outputCount }, (_, output) =>
        floats.readLinear(state, `${name}.${output}`, inputSize, outputSize),
      );
    const member: Member = {
      kind: "per_output",
      adapters: forEach("adapters", pcaSize, adapterSize),
      trunk: floats.readLinear(state, "trunk.0", adapterSize, trunkSize),
      heads: forEach("heads", trunkSize, 1),
    };
    state.end();
    return member;
  });
}
