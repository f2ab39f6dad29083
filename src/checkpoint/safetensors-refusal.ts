// The error for a safetensors file that is not as the format demands.
import { JudgeError } from "../errors.js";

export function safetensorsRefusal(found: string, wanted: string, cause?: unknown): JudgeError {
  return new JudgeError("checkpoint", { place: "safetensors", found, wanted, cause });
}
