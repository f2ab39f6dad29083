// Reads the sources of the configuration, a TOML file, the environment and flags, into the shape of the file.
import { parse as parseToml, TomlError } from "smol-toml";
import { JudgeError } from "../errors.js";
import { decodeText } from "../input/decode-text.js";
import { readRegularFileSync } from "../input/regular-file.js";
import { isTable, type Table } from "./embedded.js";
import { hint } from "./explain.js";
import { adminKeyVariable, configFileVariable, keysVariable } from "./schema.js";
import { isServiceLink } from "./service-links.js";
import { type Setting, settings } from "./settings.js";

const maxFileBytes = 4 * 2 ** 20;

/** @throws JudgeError `config` with file, line and column */
export function readToml(file: string): Table {
  const remedy = "give --config the path of a TOML file";
  const wanted = { path: file, name: file, code: "config", remedy, maxBytes: maxFileBytes } as const;
  const text = decodeText(readRegularFileSync(wanted), file, "config");
  try {
    return parseToml(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const finding = error.message.split("\n")[0]!.replace(/^Invalid TOML document: /, "");
    throw new JudgeError("config", {
      found: `${file} line ${error.line}, column ${error.column}: not TOML: ${finding}`,
      cause: error,
    });
  }
}

/** The environment's settings in the shape of a file; unknown variables with our prefix are refused. */
export function fromVariables(env: Readonly<Record<string, string | undefined>>): Table {
  const known: string[] = [
    configFileVariable,
    keysVariable,
    adminKeyVariable,
    ...settings.map((setting) => setting.env),
  ];
  for (const name of Object.keys(env)) {
    if (name.startsWith("PREFILL_JUDGE_") && !known.includes(name) && !isServiceLink(name, env[name])) {
      throw new JudgeError("config", { found: `environment: unknown variable ${name}${hint(name, known)}` });
    }
  }
  return collect((setting) => {
    const value = env[setting.env];
    return value === "" || isServiceLink(setting.env, value) ? undefined : value;
  });
}

/** The flags' settings in the shape of a file. */
export function fromFlags(flags: Readonly<Record<string, string | undefined>>): Table {
  return collect((setting) => flags[setting.flag]);
}

function collect(read: (setting: Setting) => string | undefined): Table {
  const content: Record<string, unknown> = {};
  for (const setting of settings) {
    const text = read(setting);
    if (text === undefined) continue;
    const value = setting.kind === "number" && /^\d+$/.test(text) ? Number(text) : text;
    const [first, second] = setting.path;
    if (second === undefined) content[first] = value;
    else content[first] = { ...(content[first] as object), [second]: value };
  }
  return content;
}

/** Each source over the next, table by table, as far as a source may give a setting. */
export function merge(sources: readonly Table[]): Table {
  const merged: Record<string, unknown> = {};
  for (const source of sources.toReversed())
    for (const [key, value] of Object.entries(source)) {
      const under = merged[key];
      merged[key] = isTable(value) && isTable(under) ? { ...under, ...value } : value;
    }
  return merged;
}
