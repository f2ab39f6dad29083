// The API document (OpenAPI 3.1), made from the schemas that check requests and describe answers.
import * as z from "zod";
import * as answers from "./answer-schema.js";
import { ChatRequest, messageJsonSchema } from "./chat-schema.js";
import { ScoreRequest } from "./score-route.js";
import type { Service } from "./service.js";

const json = (schema: object) => ({ content: { "application/json": { schema } } });
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Headers of every answer about a judgement. */
const judgementHeaders = Object.fromEntries(
  [
    ["x-prefill-judge-model", "the judge that answered"],
    ["x-prefill-judge-checkpoint", "hash of the checkpoint that made the answer"],
    ["x-prefill-judge-p-solve", "p_solve; 0 for an abstention"],
    ["x-prefill-judge-abstained", "only on an abstention: why"],
  ].map(([name, description]) => [name, { description, schema: { type: "string" } }]),
);

/** One server-sent event. */
const eventSchema = {
  type: "object",
  required: ["data"],
  properties: { data: { type: "string", description: "a chat.completion.chunk as JSON, or [DONE]" } },
};

const errors: Readonly<Record<string, string>> = {
  400: "Malformed: not JSON, a wrong type, no messages.",
  401: "Keys are configured and none of them was given.",
  404: "Unknown model.",
  408: "The request was not complete in time.",
  413: "The body is over the limit.",
  415: "Compressed, or another charset than UTF-8.",
  500: "A bug of the judge.",
  503: 'on_failure = "error" only: the encoder is down, or failed.',
  504: 'on_failure = "error" only: no result before the deadline.',
};

function refusals(...statuses: readonly number[]) {
  return Object.fromEntries(
    statuses.map((status) => [status, { description: errors[status], ...json(reference("Error")) }]),
  );
}

function chatOperation() {
  return {
    operationId: "chat",
    summary: "Judge the opening user message",
    description:
      "Reads the text of the first user message that has any; everything else in the request is accepted and ignored. " +
      "A well-formed request that cannot be judged gets 200 with an abstaining verdict (see x-prefill-judge-abstained). " +
      "With stream: true the answer is server-sent events: for each choice a role chunk, the content, a finish chunk; " +
      "then the usage chunk if stream_options.include_usage is set; then [DONE].",
    requestBody: { required: true, ...json(reference("ChatRequest")) },
    responses: {
      200: {
        description: "A verdict, or an abstention.",
        headers: judgementHeaders,
        content: {
          "application/json": { schema: reference("ChatCompletion") },
          "text/event-stream": { schema: eventSchema },
        },
      },
      ...refusals(400, 401, 404, 408, 413, 415, 500, 503, 504),
    },
  };
}

function getOperation(operationId: string, summary: string, answer: string, ...statuses: readonly number[]) {
  return {
    operationId,
    summary,
    responses: { 200: { description: summary, ...json(reference(answer)) }, ...refusals(...statuses) },
  };
}

/** The document for a running server. */
export function openApiDocument({ version, access, metricsNeedKey }: Service) {
  const input = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input", override: overrideMessage });
  const output = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "output" });
  const security = access.hasKeys ? { security: [{ key: [] }] } : {};
  const idParameter = { name: "id", in: "path", required: true, schema: { type: "string", minLength: 1 } };
  const metrics = {
    operationId: "metrics",
    summary: "Metrics for Prometheus",
    responses: {
      200: { description: "text", content: { "text/plain": { schema: { type: "string" } } } },
      ...refusals(401),
    },
  };
  return {
    openapi: "3.1.0",
    info: {
      title: "prefill-judge",
      version,
      description: "A judge for LLM routers: one prefill of a small encoder instead of a generated verdict.",
    },
    paths: {
      "/v1/chat/completions": { post: { ...chatOperation(), ...security } },
      "/v1/score": {
        post: {
          operationId: "score",
          summary: "Probabilities for a list of prompts",
          requestBody: { required: true, ...json(reference("ScoreRequest")) },
          responses: {
            200: { description: "One result per prompt, in order.", ...json(reference("ScoreAnswer")) },
            ...refusals(400, 401, 404, 408, 413, 415, 500, 503, 504),
          },
          ...security,
        },
      },
      "/v1/models": {
        get: { ...getOperation("models", "Judges and their aliases", "ModelList", 401), ...security },
      },
      "/v1/models/{id}": {
        get: {
          ...getOperation("model", "One judge or alias", "Model", 401, 404),
          parameters: [idParameter],
          ...security,
        },
      },
      "/health": { get: getOperation("health", "200 while the process lives", "Health") },
      "/ready": {
        get: {
          operationId: "ready",
          summary: "200 while every judge can answer",
          responses: {
            200: { description: "ready", ...json(reference("Readiness")) },
            503: { description: "starting, ending, or an encoder is down", ...json(reference("Readiness")) },
          },
        },
      },
      "/openapi.json": {
        get: {
          operationId: "openapi",
          summary: "This document",
          responses: { 200: { description: "OpenAPI 3.1", ...json({ type: "object" }) } },
        },
      },
      "/metrics": { get: { ...metrics, ...(metricsNeedKey && security) } },
    },
    components: {
      schemas: {
        ChatRequest: input(ChatRequest),
        ScoreRequest: input(ScoreRequest),
        ChatCompletion: output(answers.ChatCompletion),
        ScoreAnswer: output(answers.ScoreAnswer),
        Model: output(answers.Model),
        ModelList: output(answers.ModelList),
        Health: output(answers.Health),
        Readiness: output(answers.Readiness),
        Error: output(answers.ErrorAnswer),
      },
      ...(access.hasKeys && { securitySchemes: { key: { type: "http", scheme: "bearer" } } }),
    },
  };
}

/** Arrays are counted before their items are looked at; the document shows what the items must be. */
function overrideMessage({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: unknown;
  jsonSchema: Record<string, unknown>;
}): void {
  if (zodSchema === ChatRequest.shape.messages) jsonSchema.items = messageJsonSchema;
  if (zodSchema === ScoreRequest.shape.prompts) jsonSchema.items = { type: "string" };
}
