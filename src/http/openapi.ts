// The API document (OpenAPI 3.1), made from the routes and their schemas of requests and answers.
import * as z from "zod";
import { type ErrorStatus, openAiEnvelope, wordsOf } from "./errors.js";
import type { NamedSchema, Operation, Route } from "./route.js";
import type { Service } from "./service.js";

/** What any request may be refused with, whatever its path. */
const anyRefusals: readonly ErrorStatus[] = [400, 403, 405, 408, 417, 426, 431, 500];

/** The document for a running server. */
export function openApiDocument({ version, access }: Service, routes: readonly Route[]) {
  const schemas: Record<string, object> = {};
  const reference = ({ name, schema }: NamedSchema, io: "input" | "output" = "output") => {
    schemas[name] ??= z.toJSONSchema(schema, { io });
    return { $ref: `#/components/schemas/${name}` };
  };
  const paths = routes.flatMap((route) => {
    const { method, path, operation } = route;
    if (operation === null) return [];
    const described = describe(route, operation, reference);
    const security = access.hasKeys && route.isGuarded && { security: [{ key: [] }, { api_key: [] }] };
    return [[path, { [method.toLowerCase()]: { ...described, ...security } }]];
  });
  return {
    openapi: "3.1.0",
    info: {
      title: "prefill-judge",
      version,
      description: "A judge for LLM routers: one prefill of a small encoder instead of a generated verdict.",
    },
    paths: Object.fromEntries(paths),
    components: {
      schemas,
      ...(access.hasKeys && {
        securitySchemes: {
          key: { type: "http", scheme: "bearer" },
          api_key: { type: "apiKey", in: "header", name: "x-api-key" },
        },
      }),
    },
  };
}

type Reference = (schema: NamedSchema, io?: "input" | "output") => object;

function describe({ name, path, isGuarded }: Route, operation: Operation, reference: Reference) {
  const { summary, description, request, answer, headers = {}, errors = openAiEnvelope } = operation;
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
    name: parameter,
    in: "path",
    required: true,
    schema: { type: "string", minLength: 1 },
  }));
  const json = (schema: object, example?: object) => ({
    "application/json": { schema, ...(example && { example }) },
  });
  const answered = {
    description: summary,
    headers: mapped(headers, (text) => ({ description: text, schema: { type: "string" } })),
    content: {
      ...(answer.json && json(reference(answer.json))),
      ...mapped(answer.others ?? {}, (schema) => ({ schema })),
    },
  };
  const refusals = [...anyRefusals, ...operation.refusals, ...(isGuarded ? [401 as const] : [])];
  const refused = (status: ErrorStatus) => ({
    description: wordsOf(status).meaning,
    content: json(reference(errors)),
  });
  return {
    operationId: name,
    summary,
    ...(description !== undefined && { description }),
    parameters,
    ...(request && {
      requestBody: { required: true, content: json(reference(request, "input"), request.example) },
    }),
    responses: {
      ...Object.fromEntries(refusals.map((status) => [status, refused(status)])),
      ...Object.fromEntries([200, ...(operation.answerStatuses ?? [])].map((status) => [status, answered])),
    },
  };
}

function mapped<T>(values: Readonly<Record<string, T>>, map: (value: T) => object) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
