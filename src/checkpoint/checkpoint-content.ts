// What every checkpoint format holds. The readers build it, the writers take it.
import type { HeadWeights } from "../head/weights.js";
import type { JudgedMessage } from "../prompt/judged-text.js";

/** The formats that this project writes. */
export const writableFormats = ["router-json-1", "router-json-2", "switchyard-0.3.0"] as const;
export type WritableFormat = (typeof writableFormats)[number];
export type CheckpointFormat = WritableFormat | "llm-router-2" | "llm-router-3";

export interface CheckpointContent {
  readonly format: CheckpointFormat;
  /** the encoder's name as the checkpoint gives it */
  readonly encoderName: string;
  readonly head: HeadWeights;
  /**
   * cost by output name, in one unit for all outputs: per request, or per million input tokens in
   * llm-router's files; null where the file has none
   */
  readonly costs: Readonly<Record<string, number>> | null;
  /** arguments of the encoder's chat template in the training; empty where none are known */
  readonly chatTemplateKwargs: Readonly<Record<string, unknown>>;
  /** which user message the head was trained to read */
  readonly message: JudgedMessage;
}
