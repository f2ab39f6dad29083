// Writes a head as the checkpoint of Switchyard 0.3.0's own prefill_router route, format_version 1.
import { JudgeError } from "../../../errors.js";
import type { FeatureBlock, HeadWeights, Linear, Member } from "../../../head/weights.js";
import type { CheckpointContent } from "../../checkpoint-content.js";
import { TensorToWrite, type WritableValue, writePickle } from "../pickle/pickle-write.js";
import { writeTorchZip } from "../zip/torch-zip-write.js";

/** The label that the format demands. The router takes the last token all the same. */
const pooling = "mean of independently standardized selected layers";

/** The kind of member that the format holds. */
type PerOutput = Extract<Member, { kind: "per_output" }>;

/**
 * The bytes of a .pt file. Of a shared network of two hidden layers, the first layer becomes the adapter of
 * every output, the second one the trunk, and each row of the last one a head.
 * @throws JudgeError `checkpoint` with the reason when the format cannot hold the head
 */
export function writeSwitchyard({ head, encoderName, chatTemplateKwargs }: CheckpointContent): Uint8Array {
  const reason =
    Object.keys(chatTemplateKwargs).length > 0 ? "its chat template has arguments" : whyNot(head);
  if (reason !== null) {
    throw new JudgeError("checkpoint", {
      found: `format switchyard-0.3.0 cannot hold this head: ${reason}`,
      remedy: "use router-json-2",
    });
  }
  const [block] = head.blocks;
  const members = head.members.map((member) => toPerOutput(member, head.outputNames.length));
  const { bytes, storages } = writePickle({
    format_version: 1,
    encoder: {
      name: encoderName,
      // a checkpoint does not say how many layers its encoder has: there are at least those that it reads
      n_layers: Math.max(1, ...block!.layers),
      hidden_dim: block!.hiddenSize,
      view: "task_prompt_only",
    },
    architecture: {
      activation: "ReLU",
      ensemble_reduction: "mean(sigmoid(logits))",
      adapter_dim: members[0]!.trunk.inputSize,
      trunk_dim: members[0]!.trunk.outputSize,
    },
    feature_pipeline: featurePipeline(block!),
    models: [...head.outputNames],
    model_state_dicts: members.map(stateDict),
  });
  const text = (content: string) => new TextEncoder().encode(content);
  return writeTorchZip("prefill-router", [
    ["data.pkl", bytes],
    [".format_version", text("1")],
    [".storage_alignment", text("64")],
    ["byteorder", text("little")],
    ...storages.map((storage, index) => [`data/${index}`, storage] as const),
    ["version", text("3\n")],
  ]);
}

function whyNot({ blocks, members, calibration }: HeadWeights): string | null {
  const [block] = blocks;
  if (blocks.length !== 1 || block === undefined) return `it has ${blocks.length} feature blocks, wanted 1`;
  if (block.pooling !== "last") return `its pooling is ${block.pooling}, wanted last`;
  if (block.combination.kind === "concat" && block.layers.length > 1) {
    return "it puts several layers side by side, wanted one layer or the mean of standardised layers";
  }
  if (members.some((member) => member.kind === "shared" && member.layers.length !== 3)) {
    return "its members are not networks of two hidden layers";
  }
  return calibration.some((entry) => entry !== null)
    ? "it is calibrated, and the format has no place for that"
    : null;
}

function featurePipeline(block: FeatureBlock): WritableValue {
  const { combination, layers, hiddenSize } = block;
  const ofLayer = (values: Float32Array, position: number) =>
    new TensorToWrite(values.slice(position * hiddenSize, (position + 1) * hiddenSize), [hiddenSize]);
  const identity = {
    layerMean: new Float32Array(hiddenSize),
    layerScale: new Float32Array(hiddenSize).fill(1),
  };
  const { layerMean, layerScale } = combination.kind === "concat" ? identity : combination;
  return {
    pooling,
    selected_layers: [...layers],
    layer_mean: Object.fromEntries(
      layers.map((layer, position) => [String(layer), ofLayer(layerMean, position)]),
    ),
    layer_std: Object.fromEntries(
      layers.map((layer, position) => [String(layer), ofLayer(layerScale, position)]),
    ),
    scaler_mean: double(block.scalerMean, [hiddenSize]),
    scaler_scale: double(block.scalerScale, [hiddenSize]),
    pca_mean: double(block.pcaMean, [hiddenSize]),
    pca_components: double(block.pcaComponents, [block.pcaSize, hiddenSize]),
  };
}

/** As float64, in which the format's own files hold these values. */
function double(values: Float32Array, shape: readonly number[]): TensorToWrite {
  return new TensorToWrite(Float64Array.from(values), shape);
}

function toPerOutput(member: Member, outputCount: number): PerOutput {
  if (member.kind === "per_output") return member;
  const [adapter, trunk, last] = member.layers as [Linear, Linear, Linear];
  const heads = Array.from({ length: outputCount }, (_, output): Linear => {
    const { inputSize, weight, bias } = last;
    return {
      inputSize,
      outputSize: 1,
      weight: weight.slice(output * inputSize, (output + 1) * inputSize),
      bias: bias.slice(output, output + 1),
    };
  });
  return { kind: "per_output", adapters: heads.map(() => adapter), trunk, heads };
}

function stateDict({ adapters, trunk, heads }: PerOutput): WritableValue {
  const named: [string, Linear][] = [
    ...adapters.flatMap((adapter, output): [string, Linear][] => [
      [`adapters.${output}`, adapter],
      [`heads.${output}`, heads[output]!],
    ]),
    ["trunk.0", trunk],
  ];
  return Object.fromEntries(
    named.flatMap(([name, { weight, bias, outputSize, inputSize }]) => [
      [`${name}.weight`, new TensorToWrite(weight, [outputSize, inputSize])],
      [`${name}.bias`, new TensorToWrite(bias, [outputSize])],
    ]),
  );
}
