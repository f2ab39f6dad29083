// The tables of encoders, merged, → their parts of a Config: by type, defaults, what must be named.

import { JudgeError } from "../errors.js";
import type { ConfigSources, EncoderConfig, VllmEncoderConfig } from "./config.js";
import type { EncoderTable } from "./schema.js";

/** Keys that every type of encoder has. */
const shared: readonly string[] = ["type", "path", "model"];

/** @throws JudgeError `config` for a key that is missing or of another type */
export function toEncoder(id: string, table: EncoderTable, env: ConfigSources["env"]): EncoderConfig {
  const { type, path, model } = table;
  if (type === undefined) throw fault(id, 'type is missing; wanted type = "onnx" or "vllm"');
  if (type === "vllm") return toVllm(id, table, env);
  if (path === undefined) throw fault(id, "path is missing; wanted the folder of model.onnx");
  const foreign = Object.keys(table).find((key) => !shared.includes(key));
  if (foreign !== undefined) {
    throw fault(id, `${foreign} is a key of type = "vllm"; take it out, or change the type`);
  }
  return { id, type, path, model: model ?? null };
}

function toVllm(id: string, table: EncoderTable, env: ConfigSources["env"]): VllmEncoderConfig {
  const { path, model, base_url: baseUrl, captured_layers: layers, hidden_states_root: root } = table;
  if (path === undefined) throw fault(id, "path is missing; wanted the folder of the model's tokenizer.json");
  if (baseUrl === undefined) {
    throw fault(id, 'base_url is missing; wanted the server\'s, such as "http://127.0.0.1:8000/v1"');
  }
  const servedModel = table.served_model ?? model;
  if (servedModel === undefined) throw fault(id, "model is missing; wanted the model's name");
  if (layers === undefined) {
    throw fault(id, "captured_layers is missing; wanted the server's eagle_aux_hidden_state_layer_ids");
  }
  if (new Set(layers).size !== layers.length) throw fault(id, "captured_layers names a layer twice");
  const layerOffset = table.layer_offset ?? 0;
  if (layers.some((layer) => layer + layerOffset < 0)) {
    throw fault(id, "layer_offset makes a captured layer negative");
  }
  if (root === undefined) {
    throw fault(id, "hidden_states_root is missing; wanted the server's shared_storage_path");
  }
  const requestTimeoutMs = table.request_timeout_ms ?? 10_000;
  const fileTimeoutMs = table.file_timeout_ms ?? 1000;
  const staleMs = table.stale_after_ms ?? 300_000;
  if (staleMs <= fileTimeoutMs) {
    throw fault(id, `stale_after_ms is ${staleMs}, wanted more than file_timeout_ms, ${fileTimeoutMs}`);
  }
  return {
    id,
    type: "vllm",
    path,
    model: model ?? null,
    baseUrls: typeof baseUrl === "string" ? [baseUrl] : baseUrl,
    servedModel,
    apiKey: toApiKey(id, table.api_key_env, env),
    capturedLayers: layers,
    layerOffset,
    hiddenStatesRoot: root,
    requestTimeoutMs,
    fileTimeoutMs,
    retryMs: table.retry_ms ?? 1000,
    maxInFlight: table.max_in_flight ?? 64,
    sweepIntervalMs: table.sweep_interval_ms ?? 60_000,
    staleMs,
  };
}

function toApiKey(id: string, variable: string | undefined, env: ConfigSources["env"]): string | null {
  if (variable === undefined) return null;
  const key = env[variable]?.trim() ?? "";
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  const finding = key === "" ? "is not set" : "holds more than a key";
  throw fault(id, `api_key_env: ${variable} ${finding}; set it to the server's key`);
}

function fault(id: string, finding: string): JudgeError {
  return new JudgeError("config", { found: `encoders.${id}.${finding}` });
}
