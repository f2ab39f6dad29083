// The routes: which path and method go to which handler, and which ask for a key.
import type { Handler } from "hono";
import { answerChat } from "./apis/chat-route.js";
import { answerCountTokens } from "./apis/count-tokens-route.js";
import { answerMessages } from "./apis/messages-route.js";
import { answerResponses } from "./apis/responses-route.js";
import { answerModel, answerModels } from "./models-route.js";
import { openApiDocument } from "./openapi.js";
import { answerScore } from "./score-route.js";
import { type AppEnv, jsonAnswer, jsonType, type Service, textAnswer } from "./service.js";
import { answerReady, answerReload } from "./status-routes.js";

export interface Route {
  /** its name in the metrics */
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly paths: readonly string[];
  /** whether it asks for a key where keys are configured */
  readonly guarded: boolean;
  readonly handler: Handler<AppEnv>;
}

export function routesOf(service: Service): Route[] {
  const guarded = true;
  const document = renderOnce(() => openApiDocument(service));
  return [
    {
      name: "chat",
      method: "POST",
      paths: ["/v1/chat/completions", "/chat/completions"],
      guarded,
      handler: (context) => answerChat(service, context),
    },
    {
      name: "responses",
      method: "POST",
      paths: ["/v1/responses", "/responses"],
      guarded,
      handler: (context) => answerResponses(service, context),
    },
    {
      name: "messages",
      method: "POST",
      paths: ["/v1/messages", "/messages"],
      guarded,
      handler: (context) => answerMessages(service, context),
    },
    {
      name: "count_tokens",
      method: "POST",
      paths: ["/v1/messages/count_tokens", "/messages/count_tokens"],
      guarded,
      handler: (context) => answerCountTokens(service, context),
    },
    {
      name: "score",
      method: "POST",
      paths: ["/v1/score", "/score"],
      guarded,
      handler: (context) => answerScore(service, context),
    },
    {
      name: "models",
      method: "GET",
      paths: ["/v1/models", "/models"],
      guarded,
      handler: (context) => answerModels(service, context),
    },
    {
      name: "model",
      method: "GET",
      paths: ["/v1/models/:id{.+}", "/models/:id{.+}"],
      guarded,
      handler: (context) => answerModel(service, context),
    },
    {
      name: "health",
      method: "GET",
      paths: ["/health"],
      guarded: false,
      handler: (context) => jsonAnswer(context, { status: "ok" }),
    },
    {
      name: "ready",
      method: "GET",
      paths: ["/ready"],
      guarded: false,
      handler: (context) => answerReady(service, context),
    },
    {
      name: "metrics",
      method: "GET",
      paths: ["/metrics"],
      guarded: service.metricsNeedKey,
      handler: async (context) =>
        textAnswer(context, await service.metrics.render(), service.metrics.contentType),
    },
    {
      name: "reload",
      method: "POST",
      paths: ["/admin/reload"],
      guarded: false,
      handler: (context) => answerReload(service, context),
    },
    {
      name: "openapi",
      method: "GET",
      paths: ["/openapi.json"],
      guarded: false,
      handler: (context) => textAnswer(context, document(), jsonType),
    },
  ];
}

/** Rendered once: that takes longer than a judgement. */
function renderOnce(render: () => object): () => string {
  let text: string | null = null;
  return () => {
    text ??= JSON.stringify(render());
    return text;
  };
}
