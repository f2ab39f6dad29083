// The HTTP surface: keys, request ids, who may ask, and every error in the envelope of its API; its routes: routes.ts.
import { Hono } from "hono";
import { cors } from "hono/cors";
import { asJudgeError, JudgeError } from "../errors.js";
import { newestRequest, uploadBroken, uploadFault } from "./connection/connection.js";
import { isMessagesPath, refuse } from "./refusal.js";
import { rightPath } from "./right-path.js";
import { routesOf } from "./routes.js";
import type { AppEnv, RequestContext, Service } from "./service.js";
import { turnEnd } from "./turn-end.js";

/** A client's own request id is taken over when it looks like one. */
const saneId = /^[\w.:-]{1,128}$/;

/** Where clients of Anthropic's API send their key. */
const keyHeader = "x-api-key";

/** Where a request goes that names its host in its target, as those to proxies do. */
const absoluteTarget = /^https?:\/\/([^/?#]*)/i;

/** What a page of another origin may read. */
const exposeHeaders = [
  "x-request-id",
  "request-id",
  "x-prefill-judge-model",
  "x-prefill-judge-checkpoint",
  "x-prefill-judge-p-solve",
  "x-prefill-judge-abstained",
];

export function createApp(service: Service): Hono<AppEnv> {
  const app = new Hono<AppEnv>();

  app.use(async (context, next) => {
    const given = context.req.header("x-request-id");
    const id = given !== undefined && saneId.test(given) ? given : service.newId();
    const arrivedMs = service.clock();
    const headers: Record<string, string> = { "x-request-id": id };
    // where clients of Anthropic's API look for the id
    if (isMessagesPath(context.req.path)) headers["request-id"] = id;
    context.set("facts", { id, arrivedMs, headers });
    context.set("route", "other");
    context.set("outcome", "answered");
    // of a preflight, which cors() answers by itself
    if (service.corsOrigins.length > 0) context.header("x-request-id", id);
    await turnEnd();
    await next();
    await uploadEnded(service, context);
    const { incoming, outgoing } = context.env;
    // the last answer on the connection: those behind it would be lost
    if (service.draining() && newestRequest(incoming.socket)?.incoming === incoming)
      outgoing.shouldKeepAlive = false;
    const { status } = context.res;
    const outcome = status >= 400 ? "refused" : context.get("outcome");
    service.metrics.request(context.get("route"), outcome, status, service.clock() - arrivedMs);
  });
  if (service.corsOrigins.length > 0) {
    const origin = service.corsOrigins.includes("*") ? "*" : [...service.corsOrigins];
    app.use(cors({ origin, exposeHeaders }));
  }

  const routes = routesOf(service);
  for (const { name, method, paths, guarded, handler } of routes) {
    for (const path of paths) {
      app.use(path, async (context, next) => {
        context.set("route", name);
        admit(context);
        if (guarded) service.access.check(context.req.header("authorization"), context.req.header(keyHeader));
        await next();
      });
      app.on(method, path, handler);
      app.all(path, (context) => {
        const allowed = method === "GET" ? "GET, HEAD" : method;
        const { headers } = context.get("facts");
        headers.allow = allowed;
        // clients that try a WebSocket first know by this status, and by no other, that there is none
        if (context.req.header("upgrade")?.toLowerCase() === "websocket") {
          headers.upgrade = "HTTP/1.1";
          headers.connection = "upgrade, close";
          throw new JudgeError("upgrade_required", {
            found: "no WebSocket here",
            remedy: `this path takes ${allowed}`,
          });
        }
        throw new JudgeError("method_not_allowed", { found: `this path takes ${allowed}` });
      });
    }
  }
  const known = routes.flatMap(({ paths }) => paths);
  app.notFound((context) => {
    try {
      admit(context);
    } catch (error) {
      return refuse(service, context, asJudgeError(error));
    }
    const { method, path } = context.req;
    const { headers } = context.get("facts");
    // also of `OPTIONS *`, which asks for the server as a whole
    if (method === "OPTIONS" && path === "/") {
      headers.allow = "GET, HEAD, POST, OPTIONS";
      return new Response(null, { status: 204, headers });
    }
    const right = rightPath(path, known);
    const remedy =
      right === null
        ? "GET /openapi.json lists those there are"
        : `wanted ${right}: mend the base URL, to which a client adds the rest`;
    return refuse(service, context, new JudgeError("not_found", { found: "no such path", remedy: remedy }));
  });
  app.onError((error, context) => refuse(service, context, asJudgeError(error)));
  return app;
}

/** @throws JudgeError `host_not_allowed` or `origin_not_allowed` */
function admit({ env: { incoming, pageGuard }, req }: RequestContext): void {
  pageGuard.check({
    authority: absoluteTarget.exec(incoming.url ?? "")?.[1] ?? req.header("host"),
    origin: req.header("origin"),
    fetchSite: req.header("sec-fetch-site"),
  });
}

/** A client that is still sending would see its connection reset instead of an early answer. */
async function uploadEnded({ limits }: Service, context: RequestContext): Promise<void> {
  const { incoming } = context.env;
  if (incoming.complete || incoming.destroyed || uploadFault(incoming)) return;
  if (context.res.status === 408) {
    context.env.outgoing.shouldKeepAlive = false;
    return;
  }
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, limits.requestTimeoutMs);
    const ended = () => {
      clearTimeout(timer);
      resolve();
    };
    for (const event of ["end", "close", "error", uploadBroken]) incoming.once(event, ended);
    incoming.resume();
  });
}
