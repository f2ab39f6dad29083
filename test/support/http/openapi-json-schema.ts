// A check of JSON Schema 2020-12, as much of it as the API document uses; any other keyword is an error, so
// that nothing passes unread.

type Schema = Readonly<Record<string, unknown>>;
type Rule = (value: unknown, argument: never, schema: Schema) => boolean;

const annotations = ["$schema", "description", "title", "default", "examples"];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

const ofNumbers =
  (rule: (value: number, argument: number) => boolean) => (value: unknown, argument: number) =>
    typeof value !== "number" || rule(value, argument);
const ofArrays =
  (rule: (length: number, argument: number) => boolean) => (value: unknown, argument: number) =>
    !Array.isArray(value) || rule(value.length, argument);

const rules: Readonly<Record<string, Rule>> = {
  type: (value, names: string | readonly string[]) => [names].flat().some((name) => types[name]!(value)),
  const: (value, wanted: unknown) => value === wanted,
  enum: (value, wanted: readonly unknown[]) => wanted.includes(value),
  not: (value, schema: Schema) => !isValid(value, schema),
  anyOf: (value, schemas: readonly Schema[]) => schemas.some((schema) => isValid(value, schema)),
  allOf: (value, schemas: readonly Schema[]) => schemas.every((schema) => isValid(value, schema)),
  minimum: ofNumbers((value, least) => value >= least),
  maximum: ofNumbers((value, most) => value <= most),
  minItems: ofArrays((length, least) => length >= least),
  maxItems: ofArrays((length, most) => length <= most),
  minLength: (value, least: number) => typeof value !== "string" || [...value].length >= least,
  items: (value, schema: Schema) => !Array.isArray(value) || value.every((item) => isValid(item, schema)),
  required: (value, names: readonly string[]) =>
    !isObject(value) || names.every((name) => Object.hasOwn(value, name)),
  properties: (value, schemas: Readonly<Record<string, Schema>>) =>
    !isObject(value) ||
    Object.entries(schemas).every(
      ([name, schema]) => !Object.hasOwn(value, name) || isValid(value[name], schema),
    ),
  propertyNames: (value, schema: Schema) =>
    !isObject(value) || Object.keys(value).every((name) => isValid(name, schema)),
  additionalProperties: (value, schema: Schema | boolean, { properties = {} }) => {
    if (!isObject(value)) return true;
    const rest = Object.keys(value).filter((name) => !Object.hasOwn(properties as object, name));
    return typeof schema === "boolean"
      ? schema || rest.length === 0
      : rest.every((name) => isValid(value[name], schema));
  },
};

/** @throws Error for a keyword that this check does not know */
export function isValid(value: unknown, schema: object): boolean {
  return Object.entries(schema).every(([keyword, argument]) => {
    if (annotations.includes(keyword)) return true;
    const rule = rules[keyword];
    if (rule === undefined) throw new Error(`unknown keyword ${keyword}`);
    return rule(value, argument as never, schema as Schema);
  });
}
