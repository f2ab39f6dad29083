// Looks into the schema of the configuration: which keys a table has, and what is said of a setting.
import * as z from "zod";
import type { SettingMeta } from "../input/settings-table.js";

/** What a schema checks, without its defaults and transforms. */
export function bare(schema: unknown): unknown {
  if (schema instanceof z.ZodPipe) return bare(schema.in);
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
  )
    return bare(schema.unwrap());
  return schema;
}

/** The settings of a table by their keys; of a union of tables all together. Null for what is no table. */
export function settingsOf(schema: unknown): Record<string, z.ZodType> | null {
  const found = bare(schema);
  if (found instanceof z.ZodObject) return found.shape as Record<string, z.ZodType>;
  if (!(found instanceof z.ZodDiscriminatedUnion)) return null;
  return Object.assign({}, ...found.options.toReversed().map(settingsOf));
}

export function metaOf(schema: z.ZodType): SettingMeta | undefined {
  return schema.meta() as SettingMeta | undefined;
}

interface UnknownKey {
  readonly path: readonly string[];
  readonly known: readonly string[];
}

/** The first key of `content` that the schema does not know. */
export function unknownKey(
  schema: unknown,
  content: unknown,
  path: readonly string[] = [],
): UnknownKey | null {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return null;
  const found = bare(schema);
  const shape = settingsOf(found);
  for (const [key, value] of Object.entries(content)) {
    const at = [...path, key];
    if (shape !== null && !Object.hasOwn(shape, key)) return { path: at, known: Object.keys(shape) };
    const next = shape !== null ? shape[key] : found instanceof z.ZodRecord ? found.valueType : null;
    const inner = next === null ? null : unknownKey(next, value, at);
    if (inner !== null) return inner;
  }
  return null;
}
