// The settings that the environment and flags can give, with their place in the file: read off the schema.
import * as z from "zod";
import { configSchema } from "./schema.js";
import { bare, metaOf, settingsOf } from "./schema-walk.js";

export interface Setting {
  readonly env: string;
  readonly flag: string;
  /** a sentence in Markdown */
  readonly description: string;
  /** in the file */
  readonly path: readonly [string] | readonly [string, string];
  readonly kind: "number" | "text";
}

const tables = settingsOf(configSchema({ base: "/", env: {}, encoderIds: [] }))!;

export const settings: readonly Setting[] = Object.entries(tables).flatMap(([first, schema]) => [
  ...settingAt([first], schema),
  ...Object.entries(settingsOf(schema) ?? {}).flatMap(([second, inner]) => settingAt([first, second], inner)),
]);

function settingAt(path: Setting["path"], schema: z.ZodType): Setting[] {
  const { env, flag, description } = metaOf(schema) ?? {};
  if (env === undefined || flag === undefined || description === undefined) return [];
  return [{ env, flag, description, path, kind: bare(schema) instanceof z.ZodNumber ? "number" : "text" }];
}
