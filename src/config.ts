// Configuration file, environment and flags → one frozen Config. Flags outrank the environment, which outranks the
// file, which outranks the embedded judges. Every fault is one line: what was found, where, what to do.
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import {
  adminKeyVariable,
  type ConfigFile,
  configFileVariable,
  type EncoderTable,
  type JudgeTable,
  keysVariable,
} from "./config-schema.js";
import {
  check,
  fromFlags,
  fromVariables,
  hint,
  readKeysFile,
  readKeysVariable,
  readToml,
} from "./config-sources.js";
import type { Truncation } from "./encoder/encoder.js";
import { JudgeError } from "./errors.js";
import type { PrimaryRule } from "./verdict/capability.js";

export interface EncoderConfig {
  readonly id: string;
  readonly type: "onnx";
  /** absolute */
  readonly path: string;
  /** the model's name, compared with the one that a checkpoint gives; null: not known */
  readonly model: string | null;
}

export interface JudgeConfig {
  readonly id: string;
  /** absolute */
  readonly checkpoint: string;
  readonly encoder: string;
  /** null: the checkpoint has one output */
  readonly output: string | null;
  readonly aliases: readonly string[];
  readonly primaryRule: PrimaryRule;
  /** null: as the checkpoint says, else what the encoder takes, at most 2,048 */
  readonly maxTokens: number | null;
  /** null: as the checkpoint says, else `middle` */
  readonly truncation: Truncation | null;
  /** null: as the checkpoint's format says */
  readonly message: "first" | "latest" | null;
  readonly calibration: "on" | "off";
  readonly acceptEncoder: string | null;
}

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  /** bearer keys; none: open to all */
  readonly keys: readonly string[];
  /** keys of POST /admin/reload; none: it is off */
  readonly adminKeys: readonly string[];
  readonly metricsNeedKey: boolean;
  /** origins of browsers that may call; none: no CORS headers at all */
  readonly corsOrigins: readonly string[];
  readonly maxBodyBytes: number;
  readonly maxConnections: number;
  /** headers and body of a request must be in by then */
  readonly requestTimeoutMs: number;
  readonly shutdownGraceMs: number;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export interface Config {
  readonly defaultJudge: string | null;
  readonly server: ServerConfig;
  readonly log: {
    readonly level: LogLevel /** absolute; null: standard error */;
    readonly file: string | null;
  };
  readonly runtime: {
    readonly threads: number;
    readonly deadlineMs: number;
    readonly onFailure: "abstain" | "error";
  };
  /** only those that a judge uses */
  readonly encoders: readonly EncoderConfig[];
  readonly judges: readonly JudgeConfig[];
}

export interface ConfigSources {
  /** path of the file; absent: the environment's, or none */
  readonly file?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** by flag, e.g. `--port` */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** folder of package.json: where the embedded judges lie */
  readonly packageRoot: string;
}

const weakModel = "mistralai/Mixtral-8x7B-Instruct-v0.1";

/** The two judges that come with the package, as a file beside package.json would configure them. */
const embedded = {
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
    "prefill-judge": { checkpoint: "checkpoints/smollm2-135m", encoder: "smollm2", output: weakModel },
    "prefill-judge-fast": { checkpoint: "checkpoints/minilm-l6", encoder: "minilm", output: weakModel },
  },
} as const satisfies ConfigFile;

/** @throws JudgeError `config`, one line */
export function loadConfig(sources: ConfigSources): Config {
  const file = sources.file ?? sources.env[configFileVariable];
  if (file === "")
    throw new JudgeError(
      "config",
      `${configFileVariable} is empty; give it the path of a TOML file, or unset it`,
    );
  const content = file === undefined ? {} : readToml(file);
  const given = check(file ?? "configuration", content);
  const overlay = check("environment", fromVariables(sources.env));
  const flags = check("flags", fromFlags(sources.flags));

  const packaged = absolute(embedded, sources.packageRoot);
  const base = file === undefined ? sources.packageRoot : dirname(resolve(file));
  const own = absolute(given, base);
  const encoderTables: Record<string, EncoderTable> = { ...packaged.encoders };
  for (const [id, table] of Object.entries(own.encoders)) {
    // another folder is another model, until its name is given
    const { model: _, ...known } = encoderTables[id] ?? {};
    encoderTables[id] = { ...(table.path === undefined ? encoderTables[id] : known), ...table };
  }
  const judges = Object.entries(own.judges ?? packaged.judges ?? {}).map(([id, table]) =>
    toJudge(id, { ...packaged.judges?.[id], ...table }, Object.keys(encoderTables)),
  );
  if (judges.length === 0)
    throw new JudgeError("config", `${file}: [judges] is empty; name one, or leave the table out`);

  const used = new Set(judges.map((judge) => judge.encoder));
  const config: Config = {
    defaultJudge: flags.default_judge ?? overlay.default_judge ?? given.default_judge ?? null,
    server: toServer({ ...given.server, ...overlay.server, ...flags.server }, base, sources.env),
    log: toLog({ ...given.log, ...overlay.log, ...flags.log }, base),
    runtime: toRuntime({ ...given.runtime, ...overlay.runtime, ...flags.runtime }),
    encoders: Object.entries(encoderTables).flatMap(([id, table]) =>
      used.has(id) ? [toEncoder(id, table)] : [],
    ),
    judges,
  };
  const names = judges.flatMap((judge) => [judge.id, ...judge.aliases]);
  if (config.defaultJudge !== null && !names.includes(config.defaultJudge)) {
    throw new JudgeError(
      "config",
      `default_judge: no judge is named "${config.defaultJudge}"${hint(config.defaultJudge, names)}`,
    );
  }
  return deepFreeze(config);
}

interface Located {
  readonly encoders: Record<string, EncoderTable>;
  readonly judges: Record<string, JudgeTable> | undefined;
}

/** Paths relative to `base` made absolute. */
function absolute({ encoders, judges }: ConfigFile, base: string): Located {
  const locate = <T extends object, K extends keyof T>(table: T, key: K): T =>
    typeof table[key] === "string" ? { ...table, [key]: resolve(base, table[key]) } : table;
  const each = <T extends object>(tables: Record<string, T>, key: keyof T) =>
    Object.fromEntries(Object.entries(tables).map(([id, table]) => [id, locate(table, key)]));
  return { encoders: each(encoders ?? {}, "path"), judges: judges && each(judges, "checkpoint") };
}

function toEncoder(id: string, { type, path, model }: EncoderTable): EncoderConfig {
  if (type === undefined)
    throw new JudgeError("config", `encoders.${id}.type is missing; wanted type = "onnx"`);
  if (path === undefined)
    throw new JudgeError("config", `encoders.${id}.path is missing; wanted the folder of model.onnx`);
  return { id, type, path, model: model ?? null };
}

function toJudge(id: string, table: JudgeTable, encoderIds: readonly string[]): JudgeConfig {
  const { checkpoint, encoder } = table;
  if (checkpoint === undefined)
    throw new JudgeError("config", `judges.${id}.checkpoint is missing; wanted a checkpoint folder`);
  if (encoder === undefined)
    throw new JudgeError("config", `judges.${id}.encoder is missing; wanted one of ${encoderIds.join(", ")}`);
  if (!encoderIds.includes(encoder)) {
    throw new JudgeError(
      "config",
      `judges.${id}.encoder: no encoder is named "${encoder}"${hint(encoder, encoderIds)}`,
    );
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
    message: table.message ?? null,
    calibration: table.calibration ?? "on",
    acceptEncoder: table.accept_encoder ?? null,
  };
}

function toServer(
  table: NonNullable<ConfigFile["server"]>,
  base: string,
  env: ConfigSources["env"],
): ServerConfig {
  const keys = (setting: "api_keys_file" | "admin_key_file", variable: string) => {
    const file = table[setting];
    const fromFile = file === undefined ? [] : readKeysFile(`server.${setting}`, resolve(base, file));
    return [...fromFile, ...readKeysVariable(variable, env[variable])];
  };
  return {
    host: table.host ?? "127.0.0.1",
    port: table.port ?? 8080,
    keys: keys("api_keys_file", keysVariable),
    adminKeys: keys("admin_key_file", adminKeyVariable),
    metricsNeedKey: table.metrics_need_key ?? false,
    corsOrigins: table.cors_origins ?? [],
    maxBodyBytes: table.max_body_bytes ?? 32 * 2 ** 20,
    maxConnections: table.max_connections ?? 1024,
    requestTimeoutMs: table.request_timeout_ms ?? 30_000,
    shutdownGraceMs: table.shutdown_grace_ms ?? 10_000,
  };
}

function toLog({ level, file }: NonNullable<ConfigFile["log"]>, base: string): Config["log"] {
  return { level: level ?? "info", file: file === undefined ? null : resolve(base, file) };
}

function toRuntime(table: NonNullable<ConfigFile["runtime"]>): Config["runtime"] {
  return {
    threads: table.threads ?? availableParallelism(),
    deadlineMs: table.deadline_ms ?? 2000,
    onFailure: table.on_failure ?? "abstain",
  };
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value))
    if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
