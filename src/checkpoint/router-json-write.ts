// Writes a head as router.json, format 1 or 2, and router.safetensors. save.ts puts them on the disk.
import { JudgeError } from "../errors.js";
import { type HeadWeights, rawSizeOf } from "../head/weights.js";
import type { CheckpointContent } from "./checkpoint-content.js";
import { tensorsOf } from "./head-tensors.js";
import type { RouterJson } from "./router-json.js";
import type { RouterJson2, RouterJson2Content, TrainedView } from "./router-json-2.js";
import { fromFloat32, serializeSafetensors } from "./safetensors.js";

export interface RouterFiles {
  readonly "router.json": Uint8Array;
  readonly "router.safetensors": Uint8Array;
}

/**
 * Format 1 holds one block of mean-pooled layers side by side, members of two hidden layers, the first user
 * message, and no calibration.
 * @throws JudgeError `checkpoint` with the reason when the format cannot hold the head
 */
export function writeRouterJson1(content: CheckpointContent): RouterFiles {
  const { head, encoderName } = content;
  const reason = whyNotFormat1(content);
  if (reason !== null) {
    throw new JudgeError("checkpoint", {
      found: `format router-json-1 cannot hold this head: ${reason}`,
      remedy: "use router-json-2",
    });
  }
  const [block] = head.blocks;
  const trunk = sharedLayers(head)[0]!.map((layer) => layer.outputSize);
  const metadata: RouterJson = {
    format_version: 1,
    training_mode: "single_pca_block",
    encoder: encoderName,
    representation: "token_mean_per_layer_concat",
    extraction_layer_ids: [...block!.layers],
    hidden_size: block!.hiddenSize,
    raw_feature_dim: rawSizeOf(block!),
    feature_block_count: 1,
    pca_dim: block!.pcaSize,
    pca_whiten: false,
    output_names: [...head.outputNames],
    trunk_hidden: [trunk[0]!, trunk[1]!],
    ensemble_size: head.members.length,
    probability_link: "independent_sigmoid",
    ensemble_reduction: "probability_mean",
    tensor_file: "router.safetensors",
  };
  const layerNames = ["linear1", "linear2", "output"];
  const rename = (name: string) =>
    name
      .replace(/^blocks\.0\./, "transform.")
      .replace(
        /^members\.(\d+)\.layers\.(\d)\./,
        (_, member, layer) => `ensemble.${member}.${layerNames[Number(layer)]}.`,
      );
  return { "router.json": jsonBytes(metadata), "router.safetensors": tensorBytes(head, rename) };
}

/** @param sha256 gives the SHA-256 of bytes in hexadecimal */
export function writeRouterJson2(
  content: CheckpointContent & {
    readonly view?: TrainedView | null;
    readonly encoderFiles?: RouterJson2Content["encoderFiles"];
    readonly training?: RouterJson2Content["training"];
  },
  sha256: (bytes: Uint8Array) => string,
): RouterFiles {
  const { head } = content;
  const tensors = tensorBytes(head, (name) => name);
  const metadata: RouterJson2 = {
    format_version: 2,
    encoder: { id: content.encoderName, files: { ...content.encoderFiles } },
    view: {
      template: null,
      template_sha256: null,
      max_tokens: null,
      truncation: null,
      ...content.view,
      chat_template_kwargs: content.chatTemplateKwargs as RouterJson2["view"]["chat_template_kwargs"],
      message: content.message,
    },
    blocks: head.blocks.map((block) => ({
      layers: [...block.layers],
      pooling: block.pooling,
      hidden_size: block.hiddenSize,
      combination: block.combination.kind,
      pca_dim: block.pcaSize,
    })),
    members: membersOf(head),
    output_names: [...head.outputNames],
    calibration: head.calibration.map((entry) => entry && { ...entry }),
    costs: content.costs && { ...content.costs },
    training: content.training ?? {},
    tensor_file: "router.safetensors",
    tensor_sha256: sha256(tensors),
  };
  return { "router.json": jsonBytes(metadata), "router.safetensors": tensors };
}

function jsonBytes(metadata: object): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(metadata, null, 2)}\n`);
}

function tensorBytes(head: HeadWeights, rename: (name: string) => string): Uint8Array {
  const tensors = tensorsOf(head);
  return serializeSafetensors(
    tensors.map(([name, values, shape]) => [rename(name), fromFloat32(values, shape)]),
  );
}

function whyNotFormat1({ head, message, chatTemplateKwargs }: CheckpointContent): string | null {
  const { blocks, members, calibration } = head;
  const [block] = blocks;
  if (blocks.length !== 1 || block === undefined) return `it has ${blocks.length} feature blocks, wanted 1`;
  if (block.combination.kind !== "concat")
    return "its layers are standardised and averaged, wanted them side by side";
  if (block.pooling !== "mean") return `its pooling is ${block.pooling}, wanted mean`;
  if (members.some((member) => member.kind !== "shared" || member.layers.length !== 3)) {
    return "its members are not networks of two hidden layers";
  }
  if (calibration.some((entry) => entry !== null)) return "it is calibrated";
  if (message !== "first") return "it reads the latest user message, and the format knows the first only";
  if (Object.keys(chatTemplateKwargs).length > 0) return "its chat template has arguments";
  return null;
}

function sharedLayers({ members }: HeadWeights) {
  return members.flatMap((member) => (member.kind === "shared" ? [member.layers] : []));
}

function membersOf({ members }: HeadWeights): RouterJson2["members"] {
  const [first] = members;
  const count = members.length;
  if (first?.kind === "per_output") {
    return { kind: "per_output", count, adapter: first.trunk.inputSize, trunk: first.trunk.outputSize };
  }
  const hidden = first?.layers.slice(0, -1).map((layer) => layer.outputSize) ?? [];
  return { kind: "shared", count, hidden };
}
