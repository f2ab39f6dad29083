// Which verdict a request wants: its JSON Schema tells. Without one it is a capability verdict.

/** A JSON Schema that a request wants its answer in, as its API carries it. */
export interface AnswerFormat {
  /** null: this API's formats have no name */
  readonly name: string | null;
  /** undefined: the request gives none */
  readonly schema: unknown;
}

export type VerdictKind = "capability" | "custom" | "escalation";

/** Names that Switchyard gives its schemas. */
const kinds: Readonly<Record<string, VerdictKind>> = {
  switchyard_classifier_response: "custom",
  EscalationVerdict: "escalation",
};

/** A schema is known by its name, or without a name by its properties. One of the user's own is custom. */
export function verdictKind(format: AnswerFormat | null): VerdictKind {
  if (format === null) return "capability";
  if (format.name !== null) return Object.hasOwn(kinds, format.name) ? kinds[format.name]! : "capability";
  // nothing says that another verdict is wanted
  if (format.schema === undefined) return "capability";
  const properties = field(format.schema, "properties");
  if (field(properties, "p_solve") !== undefined) return "capability";
  return field(properties, "escalate") !== undefined && field(properties, "reason") !== undefined
    ? "escalation"
    : "custom";
}

/**
 * The format of a request, or null where it names no JSON Schema.
 * @param format `{type: "json_schema", …}` of any API; name and schema are under `json_schema` or here
 */
export function readFormat(format: unknown): AnswerFormat | null {
  if (field(format, "type") !== "json_schema") return null;
  const inner = field(format, "json_schema") ?? format;
  const name = field(inner, "name");
  return { name: typeof name === "string" ? name : null, schema: field(inner, "schema") };
}

/** A property of whatever a client sent; undefined where there is none. */
export function field(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null;
  return isObject && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
