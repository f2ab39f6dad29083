// Tables of settings as zod schemas: keys in snake_case become properties in camelCase.
import * as z from "zod";

type Camel<Key> = Key extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Key;
type CamelKeys<Table> = { [Key in keyof Table as Camel<Key>]: Table[Key] };

/** What a setting's schema says of it, for docs/configuration.md, the environment and the flags. */
export interface SettingMeta {
  readonly description: string;
  /** the default in words, where it is no constant */
  readonly standard?: string;
  readonly env?: string;
  readonly flag?: string;
}

/** A table whose settings are `shape`; the schema's output has the same settings under names in camelCase. */
export function table<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape).transform((found) => {
    const entries = Object.entries(found).map(([key, value]) => [camel(key), value]);
    return Object.fromEntries(entries) as CamelKeys<typeof found>;
  });
}

function camel(key: string): string {
  return key.replace(/_[a-z]/g, (part) => part[1]!.toUpperCase());
}

/** A setting that may be left out: it is null then. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullable().default(null);
}

/** How the message about a setting that must be given begins. */
export const missing = "is missing";

/**
 * A setting that must be given.
 * @param wanted what it is, for the message
 */
export function required(wanted: string) {
  return {
    error: ({ input }: { readonly input?: unknown }) =>
      input === undefined ? `${missing}; wanted ${wanted}` : undefined,
  };
}

/** Adds a fault that the message tells as a clause about `key`, such as `is missing`. */
export function addClause(context: z.RefinementCtx, key: string, message: string): void {
  context.addIssue({ code: "custom", path: [key], message, params: { isClause: true } });
}

/** A name of judges, encoders or outputs. */
export function nameText(options: Parameters<typeof z.string>[0] = {}) {
  return z
    .string(options)
    .min(1)
    .max(200)
    .refine((text) => text === text.trim() && !/\p{Cc}/u.test(text), {
      error: "wanted a name without blanks at its ends and without control characters",
    });
}

/** A whole number of milliseconds. */
export function milliseconds(least: number, most = 3_600_000) {
  return z.int().min(least).max(most);
}

export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;
