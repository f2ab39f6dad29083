// The API document, as much of it as the tests read.

export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: object }[];
  readonly requestBody?: { required?: boolean; content: Readonly<Record<string, { schema: object }>> };
  readonly responses: Readonly<
    Record<string, { description: string; content?: Record<string, { schema: object }> }>
  >;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
}

export interface ApiDocument {
  readonly openapi: string;
  readonly info: { title: string; version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes?: Readonly<Record<string, { type: string; scheme?: string }>>;
  };
}

export async function readDocument(url: string): Promise<ApiDocument> {
  return (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument;
}

/** `METHOD /path` → operation. */
export function operationsOf({ paths }: ApiDocument): Map<string, Operation> {
  return new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
      ),
    ),
  );
}

/** Every `$ref` in a value. */
export function referencesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "$ref" && typeof inner === "string" ? [inner] : referencesIn(inner),
  );
}
