// Configuration file, environment and flags → one frozen Config. Flags outrank the environment, which
// outranks the file, which outranks the embedded judges. Every fault is one line: what was found, where, what
// to do.
import { dirname, resolve } from "node:path";
import * as z from "zod";
import { JudgeError } from "../errors.js";
import { hasPrototypeKey } from "../input/prototype-key.js";
import type { Envelope } from "../prompt/envelope.js";
import { isTable, overEmbedded, type Table } from "./embedded.js";
import { readEnvelopes, toEnvelope } from "./envelopes.js";
import { explain, hint, refuseUnknownKeys, type Source } from "./explain.js";
import { judgeTable } from "./judge-table.js";
import {
  configFileVariable,
  configSchema,
  type EncoderConfig,
  type JudgeConfig,
  type ParsedConfig,
  type SchemaParts,
} from "./schema.js";
import { fromFlags, fromVariables, merge, readToml } from "./sources.js";

export interface Config extends Omit<ParsedConfig, "envelopes"> {
  /** what is known of clients: by the package, and by the file */
  readonly envelopes: readonly Envelope[];
  readonly ownEnvelopes: readonly Envelope[];
  /** whether the file names the judges; else they are the embedded ones */
  readonly namesJudges: boolean;
  /** ids of the encoders that the file has a table of */
  readonly ownEncoders: readonly string[];
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
export function loadConfig({ env, packageRoot, running, ...given }: ConfigSources): Config {
  const file = given.file ?? env[configFileVariable];
  if (file === "")
    throw new JudgeError("config", {
      found: `${configFileVariable} is empty`,
      remedy: "give it the path of a TOML file, or unset it",
    });
  const content = file === undefined ? {} : readToml(file);
  const fileSource: Source = [file ?? "configuration", content];
  const sources: Source[] = [
    ["flags", fromFlags(given.flags)],
    ["environment", fromVariables(env)],
    fileSource,
  ];
  if (hasPrototypeKey(content))
    throw new JudgeError("config", { found: `${file}: unknown key __proto__`, remedy: "take it out" });
  const base = file === undefined ? packageRoot : dirname(resolve(file));
  const merged = merge(sources.map(([, table]) => table));
  const whole = overEmbedded(merged, packageRoot);
  const parts: SchemaParts = {
    base,
    env,
    encoderIds: isTable(whole.encoders) ? Object.keys(whole.encoders) : [],
  };
  const schema = configSchema(parts);
  refuseUnknownKeys(schema, fileSource);
  if (file !== undefined && running !== undefined) refuseLoss(file, content, running);
  const result = schema.safeParse(whole);
  if (!result.success) throw explain(result.error.issues, sources);
  if (result.data.judges.length === 0)
    throw new JudgeError("config", {
      found: `${file}: [judges] is empty`,
      remedy: "name one, or leave the table out",
    });
  const config = {
    ...result.data,
    envelopes: readEnvelopes(packageRoot),
    ownEnvelopes: result.data.envelopes.map(toEnvelope),
    namesJudges: content.judges !== undefined,
    ownEncoders: isTable(content.encoders) ? Object.keys(content.encoders) : [],
  };
  refuseUnknownNames(config, parts.encoderIds);
  return deepFreeze(config);
}

/** The encoders that a judge names. */
export function usedEncoders({ encoders, judges }: Pick<Config, "encoders" | "judges">): EncoderConfig[] {
  return encoders.filter(({ id }) => judges.some(({ encoder }) => encoder === id));
}

/**
 * A judge whose table says no more than this.
 * @param table absolute paths; a setting that it does not give has its default
 */
export function judgeConfig(id: string, table: z.input<ReturnType<typeof judgeTable>>): JudgeConfig {
  return { id, ...judgeTable(() => z.string(), []).parse(table) };
}

function refuseUnknownNames({ defaultJudge, judges }: Config, encoderIds: readonly string[]): void {
  for (const { id, encoder } of judges) {
    if (encoderIds.includes(encoder)) continue;
    throw new JudgeError("config", {
      found: `judges.${id}.encoder: no encoder is named "${encoder}"${hint(encoder, encoderIds)}`,
    });
  }
  const names = judges.flatMap((judge) => [judge.id, ...judge.aliases]);
  if (defaultJudge !== null && !names.includes(defaultJudge))
    throw new JudgeError("config", {
      found: `default_judge: no judge is named "${defaultJudge}"${hint(defaultJudge, names)}`,
    });
}

/** Refuses a file that has lost its content: later than at the start that is a mishap. */
function refuseLoss(file: string, content: Table, running: Config): void {
  const remedy = "write it again, or start the server again for the embedded judges";
  if (Object.keys(content).length === 0)
    throw new JudgeError("config", { found: `${file} is empty by now`, remedy });
  if (content.judges === undefined && running.namesJudges)
    throw new JudgeError("config", { found: `${file} has no [judges] any more`, remedy });
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value))
    if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
