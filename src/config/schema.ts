// The configuration: one strict zod schema with its defaults. What it makes of a file is the Config.
import { resolve } from "node:path";
import * as z from "zod";
import { onnxTable } from "../encoder/onnx/settings.js";
import { vllmTable } from "../encoder/vllm/settings.js";
import {
  type DeepReadonly,
  milliseconds,
  missing,
  nameText,
  optional,
  required,
  table,
} from "../input/settings-table.js";
import { logLevels } from "../observe/log-level.js";
import { envelopeKinds } from "../prompt/envelope.js";
import { judgeTable } from "./judge-table.js";
import { readKeysFile, readKeysVariable } from "./keys.js";
import { checkHosts, checkOrigins } from "./names.js";
import { usableProcessors } from "./processors.js";
import { beginsAtHome } from "./whole-path.js";

/** The variable that names the configuration file; it has no place in the file itself. */
export const configFileVariable = "PREFILL_JUDGE_CONFIG";
/** The variable with bearer keys, separated by commas; no flag and no key of the file holds one. */
export const keysVariable = "PREFILL_JUDGE_API_KEYS";
/** The variable with the key of POST /admin/reload. */
export const adminKeyVariable = "PREFILL_JUDGE_ADMIN_KEY";

const encoderKinds = ["onnx", "vllm"] as const;
const failureAnswers = ["abstain", "error"] as const;

export interface SchemaParts {
  /** folder that relative paths start from, absolute */
  readonly base: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** ids of the encoders that a judge may name */
  readonly encoderIds: readonly string[];
}

const count = (least: number, most: number) => z.int().min(least).max(most);

/** A path, made absolute. A leading ~ is refused. */
function pathFrom(base: string, options: Parameters<typeof z.string>[0] = {}) {
  return z
    .string(options)
    .min(1)
    .refine((path) => !beginsAtHome(path), {
      error: ({ input }) => `found ${input}, and ~ means no folder here; write the path whole`,
    })
    .transform((path) => resolve(base, path));
}

function serverTable({ base, env }: SchemaParts) {
  return table({
    host: z.string().trim().min(1).default("127.0.0.1").meta({
      description: "Address to listen on.",
      env: "PREFILL_JUDGE_HOST",
      flag: "--host",
    }),
    port: count(0, 65_535).default(8080).meta({
      description: "Port to listen on; 0 takes a free one.",
      env: "PREFILL_JUDGE_PORT",
      flag: "--port",
    }),
    api_keys_file: optional(pathFrom(base)).meta({
      description: `File of bearer keys, one a line. Keys of \`${keysVariable}\` count too. Without keys the server is open to all.`,
    }),
    admin_key_file: optional(pathFrom(base)).meta({
      description: `File of keys for \`POST /admin/reload\`, which is off without one. \`${adminKeyVariable}\` counts too.`,
    }),
    metrics_need_key: z
      .boolean()
      .default(false)
      .meta({ description: "Whether `GET /metrics` wants a bearer key." }),
    cors_origins: z
      .array(z.string().min(1))
      .default([])
      .transform((origins) => checkOrigins("server.cors_origins", origins))
      .meta({ description: "Origins of browsers that may call; `*` admits all." }),
    allowed_hosts: z
      .array(z.string().min(1))
      .default([])
      .transform((hosts) => checkHosts("server.allowed_hosts", hosts))
      .meta({ description: "Names of this server besides `host` and those of loopback." }),
    max_body_bytes: count(1024, 2 ** 30)
      .default(48 * 2 ** 20)
      .meta({ description: "Largest body of a request." }),
    max_body_bytes_in_flight: count(1024, 2 ** 40)
      .default(128 * 2 ** 20)
      .meta({ description: "All large bodies together that are read or judged; more wait unread." }),
    max_header_bytes: count(1024, 2 ** 20)
      .default(16 * 2 ** 10)
      .meta({ description: "Largest headers of a request." }),
    max_connections: count(1, 1_000_000).default(1024).meta({ description: "Most open connections." }),
    request_timeout_ms: milliseconds(100)
      .default(30_000)
      .meta({ description: "Headers and body of a request must be in by then." }),
    shutdown_grace_ms: milliseconds(0)
      .default(10_000)
      .meta({ description: "How long requests may go on after SIGTERM." }),
  }).transform(({ apiKeysFile, adminKeyFile, ...settings }) => {
    const keysOf = (setting: string, file: string | null, variable: string) => {
      const kept = file === null ? [] : readKeysFile(`server.${setting}`, file);
      return [...kept, ...readKeysVariable(variable, env[variable])];
    };
    return {
      ...settings,
      maxBodyBytesInFlight: Math.max(settings.maxBodyBytesInFlight, settings.maxBodyBytes),
      keys: keysOf("api_keys_file", apiKeysFile, keysVariable),
      adminKeys: keysOf("admin_key_file", adminKeyFile, adminKeyVariable),
    };
  });
}

function logTable({ base }: SchemaParts) {
  return table({
    level: z.enum(logLevels).default("info").meta({
      description: "Least important lines that are logged.",
      env: "PREFILL_JUDGE_LOG_LEVEL",
      flag: "--log-level",
    }),
    file: optional(pathFrom(base)).meta({
      description: "File that the log is appended to.",
      standard: "standard error",
    }),
  });
}

const RuntimeTable = table({
  threads: optional(count(1, 1024)).meta({
    description: "Threads of each encoder process.",
    standard: "the usable processors, shared out among `processes`",
    env: "PREFILL_JUDGE_THREADS",
    flag: "--threads",
  }),
  processes: count(1, 256).default(1).meta({
    description: "Processes of each encoder that runs here.",
    env: "PREFILL_JUDGE_PROCESSES",
    flag: "--processes",
  }),
  deadline_ms: milliseconds(1).default(2000).meta({
    description: "A request without a result by then is answered with an abstention.",
    env: "PREFILL_JUDGE_DEADLINE_MS",
    flag: "--deadline-ms",
  }),
  on_failure: z.enum(failureAnswers).default("abstain").meta({
    description:
      "What is answered when a request cannot be judged: a verdict that abstains, or an HTTP error.",
    env: "PREFILL_JUDGE_ON_FAILURE",
    flag: "--on-failure",
  }),
  load_timeout_ms: milliseconds(100, 86_400_000)
    .default(300_000)
    .meta({ description: "How long each step of a load may take." }),
  max_batch: count(1, 1024).default(32).meta({ description: "Most texts in one run of an encoder." }),
  max_batch_tokens: count(1, 1_000_000).default(1024).meta({ description: "Most tokens in one run." }),
  max_wait_ms: count(0, 10_000).default(0).meta({ description: "How long a text waits for company." }),
  queue_limit: count(1, 1_000_000).default(256).meta({ description: "Most texts that wait for an encoder." }),
  cache_bytes: count(0, 2 ** 40)
    .default(64 * 2 ** 20)
    .meta({ description: "Memory for results that are kept for texts that come again; 0 keeps none." }),
}).transform(({ threads, maxBatch, maxBatchTokens, maxWaitMs, queueLimit, ...settings }) => ({
  ...settings,
  threads: threads ?? Math.max(1, Math.floor(usableProcessors() / settings.processes)),
  batches: { maxBatch, maxBatchTokens, maxWaitMs, queueLimit },
}));

const marker = (length: number) =>
  z.string().min(length).max(500).regex(/^\S/, { error: "wanted a marker that begins with no white space" });

/** What a client puts around what its user typed. */
export const EnvelopeTable = z.strictObject({
  client: nameText().meta({ description: "Who sends it, as answers and metrics name it." }),
  kind: z.enum(envelopeKinds).meta({
    description:
      "`block` drops what stands between the markers, `wrapper` the markers alone, `message` the whole message.",
  }),
  start: marker(3).meta({ description: "The marker at its start." }),
  end: marker(1).optional().meta({ description: "The marker at its end; only a `message` needs none." }),
});

function encoderTable({ base, env }: SchemaParts) {
  const folder = (wanted: string) => pathFrom(base, required(wanted));
  const kinds = { onnx: onnxTable(folder("the folder of model.onnx")), vllm: vllmTable({ folder, env }) };
  return z.discriminatedUnion("type", [kinds.onnx, kinds.vllm], {
    error: ({ code, input }) => {
      if (code !== "invalid_union") return undefined;
      const wanted = encoderKinds.map((kind) => `"${kind}"`).join(" or ");
      const isGiven = (input as { type?: unknown }).type !== undefined;
      return isGiven ? `wanted ${wanted}` : `${missing}; wanted type = ${wanted}`;
    },
  });
}

export function configSchema(parts: SchemaParts) {
  return table({
    default_judge: optional(nameText()).meta({
      description: "The judge of requests that name none, or a name that nobody has.",
      standard: "the first judge, for requests that name none",
      env: "PREFILL_JUDGE_DEFAULT_JUDGE",
      flag: "--default-judge",
    }),
    server: serverTable(parts).prefault({}),
    log: logTable(parts).prefault({}),
    runtime: RuntimeTable.prefault({}),
    envelopes: z.array(EnvelopeTable).max(100).default([]),
    encoders: z.record(nameText(), encoderTable(parts)).default({}).transform(withIds),
    judges: z
      .record(
        nameText(),
        judgeTable((wanted) => pathFrom(parts.base, required(wanted)), parts.encoderIds),
      )
      .default({})
      .transform(withIds),
  });
}

function withIds<Table extends object>(tables: Record<string, Table>) {
  return Object.entries(tables).map(([id, found]) => ({ id, ...found }));
}

export type ParsedConfig = DeepReadonly<z.output<ReturnType<typeof configSchema>>>;
export type EncoderConfig = ParsedConfig["encoders"][number];
export type VllmEncoderConfig = Extract<EncoderConfig, { type: "vllm" }>;
export type JudgeConfig = ParsedConfig["judges"][number];
