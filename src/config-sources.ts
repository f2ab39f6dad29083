// Reads the three sources of the configuration, TOML file, environment and flags, into the shape of the file, and checks
// each against the one schema.
import { readFileSync } from "node:fs";
import { closest } from "fastest-levenshtein";
import { parse as parseToml, TomlError } from "smol-toml";
import * as z from "zod";
import { ConfigFile, configFileVariable, keysVariable, settings } from "./config-schema.js";
import { JudgeError } from "./errors.js";

/** @throws JudgeError `config` with file, line and column */
export function readToml(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new JudgeError(
      "config",
      `${file} cannot be read (${code}); give --config the path of a TOML file`,
      { cause: error },
    );
  }
  try {
    return parseToml(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const finding = error.message.split("\n")[0]!.replace(/^Invalid TOML document: /, "");
    throw new JudgeError(
      "config",
      `${file} line ${error.line}, column ${error.column}: not TOML: ${finding}`,
      { cause: error },
    );
  }
}

/** The environment's settings in the shape of a file; unknown variables with our prefix are refused. */
export function fromVariables(env: Readonly<Record<string, string | undefined>>): unknown {
  const known: string[] = [configFileVariable, keysVariable, ...settings.map((setting) => setting.env)];
  for (const name of Object.keys(env)) {
    if (name.startsWith("PREFILL_JUDGE_") && !known.includes(name)) {
      throw new JudgeError("config", `environment: unknown variable ${name}${hint(name, known)}`);
    }
  }
  return collect((setting) => env[setting.env]);
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
  const result = ConfigFile.safeParse(content);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0]!;
    const known = keysAt(ConfigFile, issue.path);
    const place = [...issue.path, key].join(".");
    throw new JudgeError("config", `${source}: unknown key ${place}${hint(key, known)}`);
  }
  throw new JudgeError("config", `${source}: ${issue.path.join(".")}: ${issue.message}`);
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
 * Bearer keys from a file: one a line, blank lines and lines that start with # left out.
 *
 * @throws JudgeError `config`; a message never holds a key
 */
export function readKeys(file: string | undefined): string[] {
  if (file === undefined) return [];
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new JudgeError("config", `server.api_keys_file: ${file} cannot be read (${code})`, {
      cause: error,
    });
  }
  const keys = splitKeys(text.replace(/^#.*$/gm, ""));
  if (keys.length > 0) return keys;
  throw new JudgeError(
    "config",
    `server.api_keys_file: ${file} holds no key; write one a line, or leave the setting out`,
  );
}

/** Keys separated by commas or white space. */
export function splitKeys(text: string): string[] {
  return text.split(/[\s,]+/).filter((key) => key !== "");
}
