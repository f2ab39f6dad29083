// What is wrong with a configuration, as one line in the words of whoever gave it.
import { closest } from "fastest-levenshtein";
import type * as z from "zod";
import { JudgeError } from "../errors.js";
import { missing } from "../input/settings-table.js";
import { isTable, type Table } from "./embedded.js";
import { unknownKey } from "./schema-walk.js";
import { type Setting, settings } from "./settings.js";

/** Where settings come from, the one that counts first. */
export type Source = readonly [name: string, content: Table];

/**
 * @throws JudgeError `config` naming the first key that the schema does not know, and the nearest known one
 */
export function refuseUnknownKeys(schema: z.ZodType, [source, content]: Source): void {
  const found = unknownKey(schema, content);
  if (found === null) return;
  const place = found.path.join(".");
  throw new JudgeError("config", {
    found: `${source}: unknown key ${place}${hint(found.path.at(-1)!, found.known)}`,
  });
}

/** The error for the first thing that is wrong; what is missing comes last. */
export function explain(issues: readonly z.core.$ZodIssue[], sources: readonly Source[]): JudgeError {
  const issue = issues.find(({ message }) => !message.startsWith(missing)) ?? issues[0]!;
  const place = issue.path.join(".");
  if (issue.message.startsWith(missing) || (issue.code === "custom" && issue.params?.isClause === true))
    return new JudgeError("config", { found: `${place} ${issue.message}` });
  const [source] = sources.find(([, content]) => has(content, issue.path)) ?? sources.at(-1)!;
  if (issue.code === "unrecognized_keys") {
    const other = `${issue.keys[0]} is a key of another type of encoder; take it out, or change the type`;
    return new JudgeError("config", { found: `${place}.${other}` });
  }
  if (issue.code === "invalid_key") {
    const finding = issue.issues[0]?.message ?? issue.message;
    const table = issue.path.slice(0, -1).join(".");
    return new JudgeError("config", {
      found: `${source}: ${table}: "${String(issue.path.at(-1))}": ${finding}`,
    });
  }
  return new JudgeError("config", { found: `${source}: ${spelled(source, place)}: ${issue.message}` });
}

function has(content: Table, path: readonly PropertyKey[]): boolean {
  const [first, ...rest] = path;
  if (first === undefined) return true;
  const value = content[String(first)];
  if (value === undefined) return false;
  return rest.length === 0 || !isTable(value) || has(value, rest);
}

/** How a user of that source spells the setting: as a variable, a flag, or a path in the file. */
function spelled(source: string, place: string): string {
  const setting: Setting | undefined = settings.find(({ path }) => path.join(".") === place);
  if (source === "environment" && setting) return setting.env;
  if (source === "flags" && setting) return setting.flag;
  return place;
}

/** The end of a message about an unknown name: the nearest known one. */
export function hint(found: string, known: readonly string[]): string {
  return known.length === 0 ? "" : `; the nearest known one is ${closest(found, known)}`;
}
