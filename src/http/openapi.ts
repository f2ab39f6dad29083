// The API document (OpenAPI 3.1), made from the schemas that check requests and describe answers.
import * as z from "zod";
import * as answers from "../answer/answer-schema.js";
import { chatDialect, maxItems } from "../prompt/message-list.js";
import { ChatRequest } from "./apis/chat-schema.js";
import { messageJsonSchema } from "./apis/message-json-schema.js";
import { MessagesAnswer, MessagesErrorAnswer, MessagesRequest, TokenCount } from "./apis/messages-schema.js";
import { ResponsesAnswer, ResponsesRequest, responsesDialect } from "./apis/responses-schema.js";
import { encoderStatuses, json, judgingOperations, reference, refusals } from "./openapi-parts.js";
import { ScoreRequest } from "./score-route.js";
import type { Service } from "./service.js";

function getOperation(operationId: string, summary: string, answer: string, ...statuses: readonly number[]) {
  return {
    operationId,
    summary,
    responses: {
      200: { description: summary, ...json(reference(answer)) },
      ...refusals("Error", ...statuses),
    },
  };
}

/** The document for a running server. */
export function openApiDocument({ version, access, metricsNeedKey }: Service) {
  const input = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input", override: overrideMessage });
  const output = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "output" });
  const security = access.hasKeys ? { security: [{ key: [] }, { api_key: [] }] } : {};
  const idParameter = { name: "id", in: "path", required: true, schema: { type: "string", minLength: 1 } };
  const metrics = {
    operationId: "metrics",
    summary: "Metrics for Prometheus",
    responses: {
      200: { description: "text", content: { "text/plain": { schema: { type: "string" } } } },
      ...refusals("Error", 401, 403),
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
      ...Object.fromEntries(
        Object.entries(judgingOperations).map(([path, operation]) => [
          path,
          { post: { ...operation, ...security } },
        ]),
      ),
      "/v1/messages/count_tokens": {
        post: {
          operationId: "count_tokens",
          summary: "What /v1/messages would say as input_tokens: the tokens that the judge reads",
          requestBody: { required: true, ...json(reference("MessagesRequest")) },
          responses: {
            200: { description: "The count.", ...json(reference("TokenCount")) },
            ...refusals("MessagesError", ...encoderStatuses),
          },
          ...security,
        },
      },
      "/v1/score": {
        post: {
          operationId: "score",
          summary: "Probabilities for a list of prompts",
          requestBody: { required: true, ...json(reference("ScoreRequest")) },
          responses: {
            200: { description: "One result per prompt, in order.", ...json(reference("ScoreAnswer")) },
            ...refusals("Error", ...encoderStatuses),
          },
          ...security,
        },
      },
      "/v1/models": {
        get: { ...getOperation("models", "Judges and their aliases", "ModelList", 401, 403), ...security },
      },
      "/v1/models/{id}": {
        get: {
          ...getOperation("model", "One judge or alias", "Model", 401, 403, 404),
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
        ResponsesRequest: input(ResponsesRequest),
        MessagesRequest: input(MessagesRequest),
        ScoreRequest: input(ScoreRequest),
        ChatCompletion: output(answers.ChatCompletion),
        ResponsesAnswer: output(ResponsesAnswer),
        MessagesAnswer: output(MessagesAnswer),
        TokenCount: output(TokenCount),
        ScoreAnswer: output(answers.ScoreAnswer),
        Model: output(answers.Model),
        ModelList: output(answers.ModelList),
        Health: output(answers.Health),
        Readiness: output(answers.Readiness),
        Error: output(answers.ErrorAnswer),
        MessagesError: output(MessagesErrorAnswer),
      },
      ...(access.hasKeys && {
        securitySchemes: {
          key: { type: "http", scheme: "bearer" },
          api_key: { type: "apiKey", in: "header", name: "x-api-key" },
        },
      }),
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
  if (zodSchema === ChatRequest.shape.messages || zodSchema === MessagesRequest.shape.messages) {
    jsonSchema.items = messageJsonSchema(chatDialect);
  }
  if (zodSchema === ResponsesRequest.shape.input) {
    const items = { type: "array", minItems: 1, maxItems, items: messageJsonSchema(responsesDialect) };
    Object.assign(jsonSchema, { anyOf: [{ type: "string" }, items] });
  }
  if (zodSchema === ScoreRequest.shape.prompts) jsonSchema.items = { type: "string" };
}
