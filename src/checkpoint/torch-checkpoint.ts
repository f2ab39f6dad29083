import { JudgeError } from "../errors.js";
import type { CheckpointContent } from "./content.js";

export function parseTorchCheckpoint(_bytes: Uint8Array): CheckpointContent {
  throw new JudgeError("checkpoint", "no reader for .pt files yet; give a folder with router.json");
}
