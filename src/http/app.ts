// The HTTP surface: routes, request ids, and every error in OpenAI's envelope.
import { type Handler, Hono } from "hono";
import { asJudgeError, JudgeError } from "../errors.js";
import { answerChat } from "./chat-route.js";
import { errorEnvelope, wireForm } from "./errors.js";
import { answerModel, answerModels } from "./models-route.js";
import { answerScore } from "./score-route.js";
import type { AppEnv, RequestContext, Service } from "./service.js";

/** A client's own request id is taken over when it looks like one. */
const saneId = /^[\w.:-]{1,128}$/;

export function createApp(service: Service): Hono<AppEnv> {
  const app = new Hono<AppEnv>();

  app.use(async (context, next) => {
    const given = context.req.header("x-request-id");
    const id = given !== undefined && saneId.test(given) ? given : service.newId();
    context.set("facts", { id, arrivedMs: service.clock() });
    await next();
    context.header("x-request-id", id);
  });

  const on = (method: "GET" | "POST", paths: readonly string[], handler: Handler<AppEnv>) => {
    for (const path of paths) {
      app.on(method, path, handler);
      app.all(path, (context) => {
        const allowed = method === "GET" ? "GET, HEAD" : method;
        context.header("allow", allowed);
        throw new JudgeError("method_not_allowed", `this path takes ${allowed}, found ${context.req.method}`);
      });
    }
  };
  on("POST", ["/v1/chat/completions", "/chat/completions"], (context) => answerChat(service, context));
  on("POST", ["/v1/score", "/score"], (context) => answerScore(service, context));
  on("GET", ["/v1/models", "/models"], (context) => answerModels(service, context));
  on("GET", ["/v1/models/:id{.+}", "/models/:id{.+}"], (context) => answerModel(service, context));
  on("GET", ["/health"], (context) => context.json({ status: "ok" }));
  on("GET", ["/ready"], (context) => {
    const judges = Object.fromEntries(service.registry.judges.map((judge) => [judge.id, judge.ready]));
    return context.json({ ready: service.registry.ready, judges }, service.registry.ready ? 200 : 503);
  });

  app.notFound((context) =>
    refuse(
      service,
      context,
      new JudgeError("not_found", "no such path; POST /v1/chat/completions, GET /v1/models"),
    ),
  );
  app.onError((error, context) => refuse(service, context, asJudgeError(error)));
  return app;
}

function refuse(service: Service, context: RequestContext, error: JudgeError): Response {
  const { status, retryAfterSeconds } = wireForm(error);
  const { cause } = error;
  const fault = cause instanceof Error ? cause.name : null;
  service.log.refused({ requestId: context.get("facts").id, code: error.code, status, fault });
  context.header("content-type", "application/json");
  if (retryAfterSeconds !== undefined) context.header("retry-after", String(retryAfterSeconds));
  return context.newResponse(errorEnvelope(error), status as 500);
}
