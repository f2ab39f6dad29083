import { JudgeError } from "../errors.js";
import type { CheckpointContent } from "./content.js";

export function writeSwitchyard(_content: CheckpointContent): Uint8Array {
  throw new JudgeError("checkpoint", "no writer for switchyard-0.3.0 yet");
}
