// What the vLLM adapter is made of, and whom it tells what happens to it.
import type { ClientParts } from "./client.js";
import type { Swept } from "./sweep.js";

export interface VllmEvents {
  up(facts: { readonly device: string }, how: { restarts: number; loadMs: number }): void;
  down(how: { code: null; signal: null; retryMs: number; reason: string }): void;
  /** something that works and should not stay as it is */
  warning(finding: string): void;
  /** files that nobody came for were removed */
  swept(swept: Swept): void;
}

export interface VllmEncoderParts extends ClientParts {
  readonly id: string;
  readonly modelName: string | null;
  /** folder with tokenizer.json, tokenizer_config.json and config.json of the model */
  readonly folder: string;
  /** the server's eagle_aux_hidden_state_layer_ids, in its order */
  readonly capturedLayers: readonly number[];
  /** hidden-state index minus captured id */
  readonly layerOffset: number;
  /** the server's shared_storage_path */
  readonly hiddenStatesRoot: string;
  /** how long a file may take after the reply that names it */
  readonly fileTimeoutMs: number;
  readonly queueLimit: number;
  readonly sweepIntervalMs: number;
  readonly staleMs: number;
  /** pause between two looks whether a server is there again */
  readonly retryMs: number;
  readonly events: VllmEvents;
}
