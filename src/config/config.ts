// Configuration file, environment and flags → one frozen Config. Flags outrank the environment, which outranks the
// file, which outranks the embedded judges. Every fault is one line: what was found, where, what to do.
import { dirname, resolve } from "node:path";
import type { PrimaryRule } from "../answer/capability.js";
import type { CustomSettings } from "../answer/custom.js";
import type { Escalation } from "../answer/escalation.js";
import type { BatchLimits } from "../encoder/encoder.js";
import type { Truncation } from "../encoder/view.js";
import { JudgeError } from "../errors.js";
import type { Envelope } from "../prompt/envelope.js";
import { toEncoder } from "./encoders.js";
import { readEnvelopes, toEnvelope } from "./envelopes.js";
import { type ConfigFile, configFileVariable, type EncoderTable } from "./schema.js";
import { check, fromFlags, fromVariables, hint, readToml } from "./sources.js";
import { absolute, embedded, packagedJudge, toJudge, toLog, toRuntime, toServer } from "./tables.js";

export interface OnnxEncoderConfig {
  readonly id: string;
  readonly type: "onnx";
  /** absolute */
  readonly path: string;
  /** the model's name, compared with the one that a checkpoint gives; null: not known */
  readonly model: string | null;
}

export interface VllmEncoderConfig {
  readonly id: string;
  readonly type: "vllm";
  /** folder of the model's tokenizer, absolute */
  readonly path: string;
  /** as above */
  readonly model: string | null;
  /** tried in turn */
  readonly baseUrls: readonly string[];
  /** the model's name on the server */
  readonly servedModel: string;
  /** null: the server wants none */
  readonly apiKey: string | null;
  /** in the server's order */
  readonly capturedLayers: readonly number[];
  /** hidden-state index minus captured id */
  readonly layerOffset: number;
  /** absolute */
  readonly hiddenStatesRoot: string;
  readonly requestTimeoutMs: number;
  readonly fileTimeoutMs: number;
  readonly retryMs: number;
  readonly maxInFlight: number;
  readonly sweepIntervalMs: number;
  readonly staleMs: number;
}

export type EncoderConfig = OnnxEncoderConfig | VllmEncoderConfig;

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
  /** whether a run of spaces is read as one; null: as the checkpoint says, else `keep` */
  readonly spaces: "single" | "keep" | null;
  /** whether what clients put around the user's text is taken off; null: as the checkpoint says, else `keep` */
  readonly envelopes: "strip" | "keep" | null;
  /** whether a text that was cut is judged */
  readonly onTruncation: "judge" | "abstain";
  /** null: as the checkpoint's format says */
  readonly message: "first" | "latest" | null;
  readonly calibration: "on" | "off";
  readonly acceptEncoder: string | null;
  /** what it answers to escalation requests */
  readonly escalation: Escalation;
  /** null: no answers in custom mode */
  readonly custom: CustomSettings | null;
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
  /** names of this server beside its host and those of loopback */
  readonly allowedHosts: readonly string[];
  readonly maxBodyBytes: number;
  /** of all large bodies that are being read or judged; more wait unread */
  readonly maxBodyBytesInFlight: number;
  readonly maxConnections: number;
  readonly maxHeaderBytes: number;
  /** headers and body of a request must be in by then */
  readonly requestTimeoutMs: number;
  readonly shutdownGraceMs: number;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export interface Config {
  readonly defaultJudge: string | null;
  readonly server: ServerConfig;
  readonly log: {
    readonly level: LogLevel;
    /** absolute; null: standard error */
    readonly file: string | null;
  };
  readonly runtime: {
    /** of each encoder process */
    readonly threads: number;
    /** of each encoder that runs here */
    readonly processes: number;
    readonly deadlineMs: number;
    readonly onFailure: "abstain" | "error";
    /** of each step of a load: reading a checkpoint, loading an encoder, a judge's selftest */
    readonly loadTimeoutMs: number;
    /** texts and tokens of one run of an encoder, how long the first waits for company, and how many may wait */
    readonly batches: BatchLimits;
    /** of results that are kept for texts that come again; 0: none */
    readonly cacheBytes: number;
  };
  /** what is known of clients: by the package, and by the file */
  readonly envelopes: readonly Envelope[];
  readonly ownEnvelopes: readonly Envelope[];
  /** only those that a judge uses */
  readonly encoders: readonly EncoderConfig[];
  readonly judges: readonly JudgeConfig[];
  /** whether the file names them; else they are the embedded ones */
  readonly namesJudges: boolean;
}

export interface ConfigSources {
  /** path of the file; absent: the environment's, or none */
  readonly file?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** by flag, e.g. `--port` */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** folder of package.json: where the embedded judges lie */
  readonly packageRoot: string;
  /** what is in service by now; absent at the start */
  readonly running?: Config | undefined;
}

/** @throws JudgeError `config`, one line */
export function loadConfig(sources: ConfigSources): Config {
  const file = sources.file ?? sources.env[configFileVariable];
  if (file === "")
    throw new JudgeError("config", {
      found: `${configFileVariable} is empty`,
      remedy: "give it the path of a TOML file, or unset it",
    });
  const content = file === undefined ? {} : readToml(file);
  const given = check(file ?? "configuration", content);
  if (file !== undefined && sources.running !== undefined) refuseLoss(file, given, sources.running);
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
    toJudge(id, { ...packagedJudge(packaged.judges?.[id], table), ...table }, Object.keys(encoderTables)),
  );
  if (judges.length === 0)
    throw new JudgeError("config", {
      found: `${file}: [judges] is empty`,
      remedy: "name one, or leave the table out",
    });

  const used = new Set(judges.map((judge) => judge.encoder));
  const config: Config = {
    defaultJudge: flags.default_judge ?? overlay.default_judge ?? given.default_judge ?? null,
    server: toServer({ ...given.server, ...overlay.server, ...flags.server }, base, sources.env),
    log: toLog({ ...given.log, ...overlay.log, ...flags.log }, base),
    runtime: toRuntime({ ...given.runtime, ...overlay.runtime, ...flags.runtime }),
    envelopes: readEnvelopes(sources.packageRoot),
    ownEnvelopes: (given.envelopes ?? []).map(toEnvelope),
    encoders: Object.entries(encoderTables).flatMap(([id, table]) =>
      used.has(id) ? [toEncoder(id, table, sources.env)] : [],
    ),
    judges,
    namesJudges: own.judges !== undefined,
  };
  const names = judges.flatMap((judge) => [judge.id, ...judge.aliases]);
  if (config.defaultJudge !== null && !names.includes(config.defaultJudge)) {
    throw new JudgeError("config", {
      found: `default_judge: no judge is named "${config.defaultJudge}"${hint(config.defaultJudge, names)}`,
    });
  }
  return deepFreeze(config);
}

/**
 * A file that has lost its content, as one that is being written has: at the start it means the embedded judges, later a
 * mishap.
 */
function refuseLoss(file: string, given: ConfigFile, running: Config): void {
  const remedy = "write it again, or start the server again for the embedded judges";
  if (Object.keys(given).length === 0)
    throw new JudgeError("config", { found: `${file} is empty by now`, remedy: remedy });
  if (given.judges === undefined && running.namesJudges)
    throw new JudgeError("config", { found: `${file} has no [judges] any more`, remedy: remedy });
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value))
    if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
