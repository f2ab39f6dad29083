// Reads the three sources of the configuration, TOML file, environment and flags, into the shape of the file, and checks
// each against the one schema.
import { closest } from "fastest-levenshtein";
import { parse as parseToml, TomlError } from "smol-toml";
import * as z from "zod";
import { JudgeError } from "../errors.js";
import { decodeText } from "../input/decode-text.js";
import { hasPrototypeKey } from "../input/prototype-key.js";
import { readRegularFileSync } from "../input/regular-file.js";
import { adminKeyVariable, ConfigFile, configFileVariable, keysVariable, settings } from "./schema.js";
import { isServiceLink } from "./service-links.js";

/** of a configuration, or of a file of keys */
const maxFileBytes = 4 * 2 ** 20;

/** @throws JudgeError `config` with file, line and column */
export function readToml(file: string): unknown {
  const remedy = "give --config the path of a TOML file";
  const wanted = { path: file, name: file, code: "config", remedy, maxBytes: maxFileBytes } as const;
  const text = decodeText(readRegularFileSync(wanted), file, "config");
  try {
    return parseToml(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const finding = error.message.split("\n")[0]!.replace(/^Invalid TOML document: /, "");
    throw new JudgeError(
      "config",
      { found: `${file} line ${error.line}, column ${error.column}: not TOML: ${finding}` },
      { cause: error },
    );
  }
}

/** The environment's settings in the shape of a file; unknown variables with our prefix are refused. */
export function fromVariables(env: Readonly<Record<string, string | undefined>>): unknown {
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
export function fromFlags(flags: Readonly<Record<string, string | undefined>>): unknown {
  return collect((setting) => flags[setting.flag]);
}

function collect(read: (setting: (typeof settings)[number]) => string | undefined): unknown {
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

/**
 * @param source how a message names where the content came from
 * @throws JudgeError `config` naming the first key that is wrong, and the nearest known one
 */
export function check(source: string, content: unknown): ConfigFile {
  if (hasPrototypeKey(content))
    throw new JudgeError("config", { found: `${source}: unknown key __proto__`, remedy: "take it out" });
  const result = ConfigFile.safeParse(content);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0]!;
    const known = keysAt(ConfigFile, issue.path);
    const place = [...issue.path, key].join(".");
    throw new JudgeError("config", { found: `${source}: unknown key ${place}${hint(key, known)}` });
  }
  if (issue.code === "invalid_key") {
    const key = String(issue.path.at(-1));
    const finding = issue.issues[0]?.message ?? issue.message;
    throw new JudgeError("config", {
      found: `${source}: ${issue.path.slice(0, -1).join(".")}: "${key}": ${finding}`,
    });
  }
  throw new JudgeError("config", { found: `${source}: ${placeOf(source, issue.path)}: ${issue.message}` });
}

/** How a user of that source spells the key: as a variable, a flag, or a path in the file. */
function placeOf(source: string, path: readonly PropertyKey[]): string {
  const setting = settings.find((candidate) => candidate.path.join(".") === path.join("."));
  if (source === "environment" && setting) return setting.env;
  if (source === "flags" && setting) return setting.flag;
  return path.join(".");
}

/** The keys that the schema knows at `path`. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let current: unknown = schema;
  for (const step of path) {
    current = unwrap(current);
    if (current instanceof z.ZodObject) current = current.shape[step as string];
    else if (current instanceof z.ZodRecord) current = current.valueType;
    else return [];
  }
  current = unwrap(current);
  return current instanceof z.ZodObject ? Object.keys(current.shape) : [];
}

function unwrap(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? schema.unwrap() : schema;
}

/** The end of a message about an unknown name: the nearest known one. */
export function hint(found: string, known: readonly string[]): string {
  return known.length === 0 ? "" : `; the nearest known one is ${closest(found, known)}`;
}

/**
 * Bearer keys from a file: one a line; blank lines and lines that start with # are left out.
 *
 * @throws JudgeError `config`; a message never holds a key
 */
export function readKeysFile(setting: string, file: string): string[] {
  const bytes = readRegularFileSync({
    path: file,
    name: `${setting}: ${file}`,
    code: "config",
    remedy: "name a readable file",
    maxBytes: maxFileBytes,
  });
  const text = decodeText(bytes, file, "config");
  const lines = text.split("\n").map((line) => line.trim());
  return checkKeys(
    file,
    lines.filter((line) => line !== "" && !line.startsWith("#")),
  );
}

/** Bearer keys from the environment, separated by commas; none where the variable is not set. */
export function readKeysVariable(name: string, value: string | undefined): string[] {
  if (value === undefined) return [];
  const keys = value.split(",").map((key) => key.trim());
  return checkKeys(
    name,
    keys.filter((key) => key !== ""),
  );
}

/** What no client sends as a part of its key: it came in by a copy, an editor or a shell. */
const strayInKeys: readonly (readonly [RegExp, string])[] = [
  [/\s/, "holds white space; write one key a line, or separate keys by commas"],
  [/\p{Cc}|\p{Cf}|\p{Default_Ignorable_Code_Point}/u, "holds a character that cannot be seen; type it anew"],
  [/\uFFFD/, "is not UTF-8; save it as UTF-8"],
  [/^(["'`]).*\1$/, "stands in quotes, which would be a part of it; take them off"],
];

/** A source of keys that holds none would leave the server open to all. */
function checkKeys(source: string, keys: string[]): string[] {
  if (keys.length === 0)
    throw new JudgeError("config", {
      found: `${source} holds no key`,
      remedy: "write one, or leave the setting out",
    });
  for (const [stray, finding] of strayInKeys) {
    if (keys.some((key) => stray.test(key)))
      throw new JudgeError("config", { found: `${source}: a key ${finding}` });
  }
  return keys;
}
