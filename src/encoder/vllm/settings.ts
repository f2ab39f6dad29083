// The table of an encoder behind a vLLM server.
import * as z from "zod";
import { addClause, milliseconds, optional, required, table } from "../../input/settings-table.js";

const url = z.url({ protocol: /^https?$/, error: 'wanted a URL such as "http://127.0.0.1:8000/v1"' });
const urls = [url, z.array(url).min(1).max(64)] as const;

export interface VllmTableParts {
  /** the schema of a path to a folder that must be given, by what it is of */
  readonly folder: (wanted: string) => z.ZodType<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function vllmTable({ folder, env }: VllmTableParts) {
  return table({
    type: z.literal("vllm"),
    path: folder("the folder of the model's tokenizer.json").meta({
      description: "Folder of the model's `tokenizer.json`, `tokenizer_config.json` and `config.json`.",
    }),
    model: optional(z.string().min(1)).meta({
      description: "Name of the model, which is compared with the one in the checkpoint.",
    }),
    base_url: z
      .union(urls, required('the server\'s, such as "http://127.0.0.1:8000/v1"'))
      .meta({ description: "URL of the server, or a list of URLs that are tried in turn." }),
    served_model: optional(z.string().min(1)).meta({
      description: "Name of the model on the server.",
      standard: "`model`",
    }),
    api_key_env: optional(
      z.string().regex(/^[A-Za-z_]\w*$/, { error: "wanted the name of an environment variable" }),
    ).meta({ description: "Environment variable that holds the server's key." }),
    captured_layers: z
      .array(z.int().min(0).max(10_000), required("the server's eagle_aux_hidden_state_layer_ids"))
      .min(1)
      .max(256)
      .meta({ description: "The server's `eagle_aux_hidden_state_layer_ids`, in its order." }),
    layer_offset: z
      .int()
      .min(-16)
      .max(16)
      .default(0)
      .meta({ description: "Index of a hidden state minus the captured id of its layer." }),
    hidden_states_root: folder("the server's shared_storage_path").meta({
      description: "The server's `shared_storage_path`, as this process sees it.",
    }),
    request_timeout_ms: milliseconds(1)
      .default(10_000)
      .meta({ description: "How long one request to the server may take." }),
    file_timeout_ms: milliseconds(1)
      .default(1000)
      .meta({ description: "How long a file may take to be whole after the reply that names it." }),
    retry_ms: milliseconds(10)
      .default(1000)
      .meta({ description: "Pause between two looks whether a server is there again." }),
    probe_interval_ms: milliseconds(10, 86_400_000)
      .default(5000)
      .meta({ description: "Pause between two looks whether a server still gives what it gave." }),
    hedge: z
      .boolean()
      .default(false)
      .meta({ description: "Whether the next server is asked, too, when one is slower than its usual p99." }),
    max_in_flight: z
      .int()
      .min(1)
      .max(100_000)
      .default(64)
      .meta({ description: "Most requests at the server at one time." }),
    sweep_interval_ms: milliseconds(10, 86_400_000)
      .default(60_000)
      .meta({ description: "Pause between two looks for files that nobody came for." }),
    stale_after_ms: milliseconds(10, 86_400_000)
      .default(300_000)
      .meta({ description: "Age at which such a file is removed." }),
    hidden_states_max_bytes: z
      .int()
      .min(2 ** 20)
      .max(2 ** 50)
      .default(4 * 2 ** 30)
      .meta({
        description: "Hidden states in the folder above which requests abstain instead of filling it.",
      }),
  }).transform((found, context) => {
    const { baseUrl, servedModel, apiKeyEnv, staleAfterMs: staleMs, ...settings } = found;
    const { capturedLayers: layers, layerOffset, fileTimeoutMs } = found;
    const fault = (key: string, clause: string) => addClause(context, key, clause);
    if (servedModel === null && found.model === null) fault("model", "is missing; wanted the model's name");
    if (new Set(layers).size !== layers.length) fault("captured_layers", "names a layer twice");
    if (layers.some((layer) => layer + layerOffset < 0))
      fault("layer_offset", "makes a captured layer negative");
    if (staleMs <= fileTimeoutMs)
      fault("stale_after_ms", `is ${staleMs}, wanted more than file_timeout_ms, ${fileTimeoutMs}`);
    const apiKey = apiKeyEnv === null ? null : (env[apiKeyEnv]?.trim() ?? "");
    if (apiKey !== null && !/^[\x21-\x7e]+$/.test(apiKey)) {
      const state = apiKey === "" ? "is not set" : "holds more than a key";
      context.addIssue({
        code: "custom",
        path: ["api_key_env"],
        message: `${apiKeyEnv} ${state}; set it to the server's key`,
      });
    }
    return {
      ...settings,
      baseUrls: [baseUrl].flat(),
      servedModel: servedModel ?? found.model ?? "",
      apiKey,
      staleMs,
    };
  });
}
