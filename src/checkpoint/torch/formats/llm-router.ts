// prefill_router.pt of NVIDIA's llm-router v3, versions 2 and 3 → checkpoint content. Every dimension is
// checked against the others. A member that the format does not know is refused.
// Format: model_router_toolkit/prefill/{train,scorer,transforms,trunk}.py of NVIDIA-AI-Blueprints/llm-router.
import type { CheckpointContent } from "../../checkpoint-content.js";
import { Fields } from "../pickle/fields.js";
import { describe } from "../pickle/pickle-values.js";
import type { TorchFile } from "../torch-file.js";
import { torchRefusal } from "../torch-refusal.js";
import { readBlocks } from "./llm-router-blocks.js";
import { readCosts } from "./llm-router-costs.js";
import { readTransforms } from "./llm-router-transforms.js";
import { readMembers, readTrunkConfig } from "./llm-router-trunk.js";

const place = "llm-router";

/** @throws JudgeError `checkpoint` that names what is missing, extra, mis-shaped or not supported */
export function readLlmRouter(file: TorchFile): CheckpointContent {
  const root = Fields.of(file.root, place);
  const version = root.take("version");
  if (version !== 2 && version !== 3) {
    throw torchRefusal(place, {
      found: `version ${describe(version)}`,
      wanted: "2 or 3",
      remedy: "train it again with llm-router v3",
    });
  }
  const outputNames = root.texts("model_names");
  const { transforms, encoderName, chatTemplateKwargs } = readTransforms(
    root.fields("transforms"),
    outputNames,
    version,
  );
  const trunk = readTrunkConfig(root.fields("trunk_config"), version, outputNames.length);
  const blocks = readBlocks(transforms, trunk, file.floats);
  const members = readMembers(root, trunk, file.floats);
  const costs = readCosts(root.fields("pool_config"), outputNames, encoderName);
  // the medians of answer lengths, which no computation here needs
  if (root.has("cost_table")) root.fields("cost_table");
  root.end();
  return {
    format: `llm-router-${version}`,
    encoderName,
    head: { outputNames, blocks, members, calibration: outputNames.map(() => null) },
    costs,
    chatTemplateKwargs,
    message: "first",
  };
}
