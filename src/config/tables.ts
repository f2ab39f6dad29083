// The tables of a configuration file, merged, → the parts of a Config: defaults, absolute paths, what must be named.

import type { CustomSettings } from "../answer/custom.js";
import { JudgeError } from "../errors.js";
import type { Config, ConfigSources, JudgeConfig, ServerConfig } from "./config.js";
import { checkHosts, checkOrigins } from "./names.js";
import { usableProcessors } from "./processors.js";
import {
  adminKeyVariable,
  type ConfigFile,
  type CustomTable,
  type EncoderTable,
  type JudgeTable,
  keysVariable,
} from "./schema.js";
import { hint, readKeysFile, readKeysVariable } from "./sources.js";
import { wholePath } from "./whole-path.js";

const weakModel = "mistralai/Mixtral-8x7B-Instruct-v0.1";

/** The two judges that come with the package, as a file beside package.json would configure them. */
export const embedded = {
  encoders: {
    smollm2: {
      type: "onnx",
      path: "checkpoints/smollm2-135m/encoder",
      model: "HuggingFaceTB/SmolLM2-135M-Instruct",
    },
    minilm: {
      type: "onnx",
      path: "checkpoints/minilm-l6/encoder",
      model: "sentence-transformers/all-MiniLM-L6-v2",
    },
  },
  judges: {
    "prefill-judge": {
      checkpoint: "checkpoints/smollm2-135m",
      encoder: "smollm2",
      output: weakModel,
      spaces: "single",
      envelopes: "strip",
    },
    "prefill-judge-fast": {
      checkpoint: "checkpoints/minilm-l6",
      encoder: "minilm",
      output: weakModel,
      envelopes: "strip",
    },
  },
} as const satisfies ConfigFile;

interface Located {
  readonly encoders: Record<string, EncoderTable>;
  readonly judges: Record<string, JudgeTable> | undefined;
}

/** Paths relative to `base` made absolute. */
export function absolute({ encoders, judges }: ConfigFile, base: string): Located {
  const each = <T extends object>(
    place: string,
    tables: Record<string, T>,
    keys: readonly (keyof T & string)[],
  ) => {
    const located = Object.entries(tables).map(([id, table]) => {
      const locate = (known: T, key: keyof T & string): T =>
        typeof known[key] === "string"
          ? { ...known, [key]: wholePath(base, known[key], `${place}.${id}.${key}`) }
          : known;
      return [id, keys.reduce(locate, table)];
    });
    return Object.fromEntries(located);
  };
  return {
    encoders: each("encoders", encoders ?? {}, ["path", "hidden_states_root"]),
    judges: judges && each("judges", judges, ["checkpoint"]),
  };
}

/** What an embedded judge's table gives to one of its name; of another checkpoint nothing is known. */
export function packagedJudge(packaged: JudgeTable | undefined, own: JudgeTable): JudgeTable {
  const { envelopes: _, spaces: __, ...known } = packaged ?? {};
  return own.checkpoint === undefined ? (packaged ?? {}) : known;
}

export function toJudge(id: string, table: JudgeTable, encoderIds: readonly string[]): JudgeConfig {
  const { checkpoint, encoder } = table;
  if (checkpoint === undefined)
    throw new JudgeError("config", {
      found: `judges.${id}.checkpoint is missing`,
      remedy: "wanted a checkpoint folder",
    });
  if (encoder === undefined)
    throw new JudgeError("config", {
      found: `judges.${id}.encoder is missing`,
      remedy: `wanted one of ${encoderIds.join(", ")}`,
    });
  if (!encoderIds.includes(encoder)) {
    throw new JudgeError("config", {
      found: `judges.${id}.encoder: no encoder is named "${encoder}"${hint(encoder, encoderIds)}`,
    });
  }
  return {
    id,
    checkpoint,
    encoder,
    output: table.output ?? null,
    aliases: table.aliases ?? [],
    primaryRule: table.primary_rule ?? "SUP-4",
    maxTokens: table.max_tokens ?? null,
    truncation: table.truncation ?? null,
    spaces: table.spaces ?? null,
    envelopes: table.envelopes ?? null,
    onTruncation: table.on_truncation ?? "judge",
    message: table.message ?? null,
    calibration: table.calibration ?? "on",
    acceptEncoder: table.accept_encoder ?? null,
    escalation: table.escalation ?? "stay",
    custom: table.custom === undefined ? null : toCustom(`judges.${id}.custom`, table.custom),
  };
}

/** As llm-router, a tolerance of 0.20 unless another is given. */
function toCustom(place: string, table: CustomTable): CustomSettings {
  const { pointer, targets = {}, policy = "tolerance", tolerance = 0.2, lambda = 0.5 } = table;
  const missing = (finding: string) => new JudgeError("config", { found: `${place}.${finding}` });
  if (pointer === undefined) {
    throw missing('pointer is missing; wanted the selector of the route, e.g. "/decision/target"');
  }
  if (Object.keys(targets).length === 0) {
    throw missing('targets is missing; wanted groups of the route and outputs, e.g. { efficient = "weak" }');
  }
  const defaultGroup = table.default ?? "capable";
  if (table.default === undefined && !Object.hasOwn(targets, defaultGroup)) {
    throw missing("default is missing; wanted the group of requests that cannot be judged");
  }
  const rule =
    policy === "tolerance" ? { policy, tolerance } : policy === "utility" ? { policy, lambda } : { policy };
  return { pointer, targets, rule, costs: table.costs ?? null, template: table.template ?? {}, defaultGroup };
}

export function toServer(
  table: NonNullable<ConfigFile["server"]>,
  base: string,
  env: ConfigSources["env"],
): ServerConfig {
  const keys = (setting: "api_keys_file" | "admin_key_file", variable: string) => {
    const file = table[setting];
    const fromFile =
      file === undefined ? [] : readKeysFile(`server.${setting}`, wholePath(base, file, `server.${setting}`));
    return [...fromFile, ...readKeysVariable(variable, env[variable])];
  };
  const maxBodyBytes = table.max_body_bytes ?? 48 * 2 ** 20;
  return {
    host: table.host ?? "127.0.0.1",
    port: table.port ?? 8080,
    keys: keys("api_keys_file", keysVariable),
    adminKeys: keys("admin_key_file", adminKeyVariable),
    metricsNeedKey: table.metrics_need_key ?? false,
    corsOrigins: checkOrigins("server.cors_origins", table.cors_origins ?? []),
    allowedHosts: checkHosts("server.allowed_hosts", table.allowed_hosts ?? []),
    maxBodyBytes,
    maxBodyBytesInFlight: Math.max(table.max_body_bytes_in_flight ?? 128 * 2 ** 20, maxBodyBytes),
    maxConnections: table.max_connections ?? 1024,
    maxHeaderBytes: table.max_header_bytes ?? 16 * 2 ** 10,
    requestTimeoutMs: table.request_timeout_ms ?? 30_000,
    shutdownGraceMs: table.shutdown_grace_ms ?? 10_000,
  };
}

export function toLog({ level, file }: NonNullable<ConfigFile["log"]>, base: string): Config["log"] {
  return { level: level ?? "info", file: file === undefined ? null : wholePath(base, file, "log.file") };
}

export function toRuntime(table: NonNullable<ConfigFile["runtime"]>): Config["runtime"] {
  const processes = table.processes ?? 1;
  return {
    threads: table.threads ?? Math.max(1, Math.floor(usableProcessors() / processes)),
    processes,
    deadlineMs: table.deadline_ms ?? 2000,
    onFailure: table.on_failure ?? "abstain",
    loadTimeoutMs: table.load_timeout_ms ?? 300_000,
    batches: {
      maxBatch: table.max_batch ?? 32,
      maxBatchTokens: table.max_batch_tokens ?? 1024,
      maxWaitMs: table.max_wait_ms ?? 0,
      queueLimit: table.queue_limit ?? 256,
    },
    cacheBytes: table.cache_bytes ?? 64 * 2 ** 20,
  };
}
