// The schema of the configuration file, in its own words (snake_case). One strict schema for file, env and flags.
import * as z from "zod";
import { primaryRules } from "../answer/capability.js";
import { escalations } from "../answer/escalation.js";
import { truncations } from "../encoder/view.js";

const name = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text === text.trim() && !/\p{Cc}/u.test(text), {
    error: "wanted a name without blanks at its ends and without control characters",
  });

const ServerTable = z.strictObject({
  host: z.string().trim().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  api_keys_file: z.string().min(1).optional(),
  admin_key_file: z.string().min(1).optional(),
  metrics_need_key: z.boolean().optional(),
  cors_origins: z.array(z.string().min(1)).optional(),
  allowed_hosts: z.array(z.string().min(1)).optional(),
  max_body_bytes: z
    .int()
    .min(1024)
    .max(2 ** 30)
    .optional(),
  max_body_bytes_in_flight: z
    .int()
    .min(1024)
    .max(2 ** 40)
    .optional(),
  max_header_bytes: z
    .int()
    .min(1024)
    .max(2 ** 20)
    .optional(),
  max_connections: z.int().min(1).max(1_000_000).optional(),
  request_timeout_ms: z.int().min(100).max(3_600_000).optional(),
  shutdown_grace_ms: z.int().min(0).max(3_600_000).optional(),
});

const LogTable = z.strictObject({
  level: z.enum(["debug", "info", "warn", "error", "silent"]).optional(),
  file: z.string().min(1).optional(),
});

const RuntimeTable = z.strictObject({
  threads: z.int().min(1).max(1024).optional(),
  processes: z.int().min(1).max(256).optional(),
  deadline_ms: z.int().min(1).max(3_600_000).optional(),
  on_failure: z.enum(["abstain", "error"]).optional(),
  load_timeout_ms: z.int().min(100).max(86_400_000).optional(),
  max_batch: z.int().min(1).max(1024).optional(),
  max_batch_tokens: z.int().min(1).max(1_000_000).optional(),
  max_wait_ms: z.int().min(0).max(10_000).optional(),
  queue_limit: z.int().min(1).max(1_000_000).optional(),
  cache_bytes: z
    .int()
    .min(0)
    .max(2 ** 40)
    .optional(),
});

const httpUrl = z.url({
  protocol: /^https?$/,
  error: 'wanted a URL such as "http://127.0.0.1:8000/v1"',
});

const EncoderTable = z.strictObject({
  type: z.enum(["onnx", "vllm"]).optional(),
  path: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  base_url: z.union([httpUrl, z.array(httpUrl).min(1).max(64)]).optional(),
  served_model: z.string().min(1).optional(),
  api_key_env: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, { error: "wanted the name of an environment variable" })
    .optional(),
  captured_layers: z.array(z.int().min(0).max(10_000)).min(1).max(256).optional(),
  layer_offset: z.int().min(-16).max(16).optional(),
  hidden_states_root: z.string().min(1).optional(),
  request_timeout_ms: z.int().min(1).max(3_600_000).optional(),
  file_timeout_ms: z.int().min(1).max(3_600_000).optional(),
  retry_ms: z.int().min(10).max(3_600_000).optional(),
  max_in_flight: z.int().min(1).max(100_000).optional(),
  sweep_interval_ms: z.int().min(10).max(86_400_000).optional(),
  stale_after_ms: z.int().min(10).max(86_400_000).optional(),
});

const CustomTable = z.strictObject({
  pointer: z
    .string()
    .regex(/^(\/([^~/]|~[01])*)+$/, { error: 'wanted a JSON Pointer such as "/decision/target"' })
    .optional(),
  targets: z.record(name, z.string().min(1)).optional(),
  policy: z.enum(["tolerance", "max", "utility"]).optional(),
  tolerance: z.number().min(0).max(1).optional(),
  costs: z.record(name, z.number().min(0)).optional(),
  lambda: z.number().min(0).max(1).optional(),
  template: z.record(z.string(), z.json()).optional(),
  default: name.optional(),
});

const marker = (length: number) =>
  z.string().min(length).max(500).regex(/^\S/, { error: "wanted a marker that begins with no white space" });

/** What a client of one's own puts around what its user typed. */
export const EnvelopeTable = z.strictObject({
  client: name,
  kind: z.enum(["block", "wrapper", "message"]),
  start: marker(3),
  /** needed but for a message */
  end: marker(1).optional(),
});

const JudgeTable = z.strictObject({
  checkpoint: z.string().min(1).optional(),
  encoder: name.optional(),
  output: z.string().min(1).optional(),
  aliases: z.array(name).optional(),
  primary_rule: z.enum(primaryRules).optional(),
  max_tokens: z.int().min(1).optional(),
  truncation: z.enum(truncations).optional(),
  spaces: z.enum(["single", "keep"]).optional(),
  envelopes: z.enum(["strip", "keep"]).optional(),
  on_truncation: z.enum(["judge", "abstain"]).optional(),
  message: z.enum(["first", "latest"]).optional(),
  calibration: z.enum(["on", "off"]).optional(),
  accept_encoder: z.string().min(1).optional(),
  escalation: z.enum(escalations).optional(),
  custom: CustomTable.optional(),
});

/** Every key is optional here; what a table must name in the end is checked where tables are merged (config.ts). */
export const ConfigFile = z.strictObject({
  default_judge: name.optional(),
  server: ServerTable.optional(),
  log: LogTable.optional(),
  runtime: RuntimeTable.optional(),
  envelopes: z.array(EnvelopeTable).max(100).optional(),
  encoders: z.record(name, EncoderTable).optional(),
  judges: z.record(name, JudgeTable).optional(),
});
export type ConfigFile = z.infer<typeof ConfigFile>;
export type EnvelopeTable = z.infer<typeof EnvelopeTable>;
export type EncoderTable = z.infer<typeof EncoderTable>;
export type CustomTable = z.infer<typeof CustomTable>;
export type JudgeTable = z.infer<typeof JudgeTable>;

/** Settings that env variables and flags can give, with their place in the file. */
export const settings = [
  { env: "PREFILL_JUDGE_HOST", flag: "--host", path: ["server", "host"], kind: "text" },
  { env: "PREFILL_JUDGE_PORT", flag: "--port", path: ["server", "port"], kind: "number" },
  { env: "PREFILL_JUDGE_DEFAULT_JUDGE", flag: "--default-judge", path: ["default_judge"], kind: "text" },
  { env: "PREFILL_JUDGE_THREADS", flag: "--threads", path: ["runtime", "threads"], kind: "number" },
  {
    env: "PREFILL_JUDGE_PROCESSES",
    flag: "--processes",
    path: ["runtime", "processes"],
    kind: "number",
  },
  {
    env: "PREFILL_JUDGE_DEADLINE_MS",
    flag: "--deadline-ms",
    path: ["runtime", "deadline_ms"],
    kind: "number",
  },
  { env: "PREFILL_JUDGE_ON_FAILURE", flag: "--on-failure", path: ["runtime", "on_failure"], kind: "text" },
  { env: "PREFILL_JUDGE_LOG_LEVEL", flag: "--log-level", path: ["log", "level"], kind: "text" },
] as const;

/** The variable that names the configuration file; it has no place in the file itself. */
export const configFileVariable = "PREFILL_JUDGE_CONFIG";

/** The variable with bearer keys, separated by commas; no flag and no key of the file holds one. */
export const keysVariable = "PREFILL_JUDGE_API_KEYS";
/** The variable with the key of POST /admin/reload. */
export const adminKeyVariable = "PREFILL_JUDGE_ADMIN_KEY";
