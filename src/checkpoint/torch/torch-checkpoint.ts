// Reads a torch checkpoint of either public format. The names in its root dict tell which one it is.
import type { CheckpointContent } from "../checkpoint-content.js";
import { show } from "../show.js";
import { readLlmRouter } from "./formats/llm-router.js";
import { readSwitchyard } from "./formats/switchyard.js";
import { Fields } from "./pickle/fields.js";
import { parseTorchFile } from "./torch-file.js";
import { torchRefusal } from "./torch-refusal.js";

/**
 * Reads a `.pt` file of NVIDIA's llm-router (versions 2 and 3) or of Switchyard 0.3.0, and never runs it.
 * @throws JudgeError `checkpoint` for every other file
 */
export function parseTorchCheckpoint(bytes: Uint8Array): CheckpointContent {
  const file = parseTorchFile(bytes);
  const root = Fields.of(file.root, "torch checkpoint");
  if (root.has("shared_trunk") && root.has("transforms")) return readLlmRouter(file);
  if (root.has("model_state_dicts") && root.has("feature_pipeline")) return readSwitchyard(file);
  const names = root.names.slice(0, 5).map((name) => show(String(name)));
  throw torchRefusal("torch checkpoint", {
    found: `a dict of ${root.names.length} with ${names.join(", ") || "nothing"}`,
    wanted:
      "transforms and shared_trunk (llm-router) or feature_pipeline and model_state_dicts (Switchyard 0.3.0)",
    remedy: "use a checkpoint of one of these",
  });
}
