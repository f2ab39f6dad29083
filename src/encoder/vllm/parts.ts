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
  /** no server serves as before, for another reason */
  stillDown(how: { retryMs: number; reason: string }): void;
  /** one server of the list serves now, or does not, or for another reason */
  server(how: { host: string; isServing: boolean; reason: string | null }): void;
  /** of hidden states in the folder */
  folderBytes(bytes: number): void;
}

export interface VllmEncoderParts extends ClientParts {
  /** such as `http://127.0.0.1:8000/v1` */
  readonly baseUrls: readonly string[];
  /** how long a server may take for one reply */
  readonly timeoutMs: number;
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
  /** pause between two looks at a server that serves */
  readonly probeIntervalMs: number;
  /** whether a second server is asked when the first is slower than usual */
  readonly hedge: boolean;
  /** of hidden states in the folder, above which requests are refused */
  readonly maxFolderBytes: number;
  readonly events: VllmEvents;
}
