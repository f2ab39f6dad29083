// The HTTP surface: request ids, who may ask, which route answers, and errors in the envelope of their API.
import { Hono, type MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { asJudgeError, JudgeError } from "../errors.js";
import { apiOf } from "./apis/apis.js";
import { newestRequest, uploadBroken, uploadFault } from "./connection/connection.js";
import { refuse } from "./refusal.js";
import { rightPath } from "./right-path.js";
import type { Route } from "./route.js";
import { routesOf } from "./routes.js";
import { type AppEnv, judgementHeaders, type RequestContext, type Service } from "./service.js";

/** A client's own request id is taken over when it looks like one. */
const saneId = /^[\w.:-]{1,128}$/;

/** A target that names its host, as requests to proxies do. */
const absoluteTarget = /^https?:\/\/([^/?#]*)/i;

/** What a page of another origin may read. */
const exposeHeaders = ["x-request-id", "request-id", ...Object.keys(judgementHeaders)];

export function createApp(service: Service): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(followRequest(service));
  if (service.corsOrigins.length > 0) {
    const origin = service.corsOrigins.includes("*") ? "*" : [...service.corsOrigins];
    app.use(cors({ origin, exposeHeaders }));
  }
  const routes = routesOf(service);
  for (const route of routes) for (const path of pathsOf(route)) mount(app, service, route, path);
  const known = routes.flatMap(pathsOf);
  app.notFound((context) => {
    try {
      return answerUnknown(context, known);
    } catch (error) {
      return refuse(service, context, asJudgeError(error));
    }
  });
  app.onError((error, context) => refuse(service, context, asJudgeError(error)));
  return app;
}

/** Gives the request its id, and counts it once it has its answer. */
function followRequest(service: Service): MiddlewareHandler<AppEnv> {
  return async (context, next) => {
    const given = context.req.header("x-request-id");
    const id = given !== undefined && saneId.test(given) ? given : service.newId();
    const arrivedMs = service.clock();
    context.header("x-request-id", id);
    const ownHeader = apiOf(context.req.path)?.requestIdHeader;
    if (ownHeader) context.header(ownHeader, id);
    context.set("facts", { id, arrivedMs });
    context.set("route", "other");
    context.set("outcome", "answered");
    await next();
    await uploadEnded(service, context);
    const { incoming, outgoing } = context.env;
    // ends the connection with its last answer; ended before, it would lose the answers behind
    if (service.draining() && newestRequest(incoming.socket)?.incoming === incoming)
      outgoing.shouldKeepAlive = false;
    const { status } = context.res;
    const outcome = status >= 400 ? "refused" : context.get("outcome");
    service.metrics.request(context.get("route"), outcome, status, service.clock() - arrivedMs);
  };
}

/** Where Hono finds the route. */
function pathsOf({ path }: Route): string[] {
  const pattern = path.replace(/\{(\w+)\}/g, ":$1{.+}");
  return [...new Set([pattern, pattern.replace(/^\/v1(?=\/)/, "")])];
}

function mount(app: Hono<AppEnv>, service: Service, route: Route, path: string): void {
  const { name, method, isGuarded, handler } = route;
  app.use(path, async (context, next) => {
    context.set("route", name);
    admit(context);
    if (isGuarded) service.access.check(context.req.header("authorization"), context.req.header("x-api-key"));
    await next();
  });
  app.on(method, path, (context) => handler(context));
  app.all(path, (context) => {
    const allowed = method === "GET" ? "GET, HEAD" : method;
    context.header("allow", allowed);
    // clients that try a WebSocket first know by this status, and by no other, that there is none
    if (context.req.header("upgrade")?.toLowerCase() === "websocket") {
      context.header("upgrade", "HTTP/1.1");
      context.header("connection", "upgrade, close");
      throw new JudgeError("upgrade_required", {
        found: "no WebSocket here",
        remedy: `this path takes ${allowed}`,
      });
    }
    throw new JudgeError("method_not_allowed", { found: `this path takes ${allowed}` });
  });
}

/** @throws JudgeError `not_found` with the path that was meant, `host_not_allowed` or `origin_not_allowed` */
function answerUnknown(context: RequestContext, known: readonly string[]): Response {
  admit(context);
  const { method, path } = context.req;
  // also `OPTIONS *`, which asks about the server as a whole
  if (method === "OPTIONS" && path === "/") {
    context.header("allow", "GET, HEAD, POST, OPTIONS");
    return context.body(null, 204);
  }
  const right = rightPath(path, known);
  const remedy =
    right === null
      ? "GET /openapi.json lists those there are"
      : `wanted ${right}: mend the base URL, to which a client adds the rest`;
  throw new JudgeError("not_found", { found: "no such path", remedy });
}

/** @throws JudgeError `host_not_allowed` or `origin_not_allowed` */
function admit({ env: { incoming, pageGuard }, req }: RequestContext): void {
  pageGuard.check({
    authority: absoluteTarget.exec(incoming.url ?? "")?.[1] ?? req.header("host"),
    origin: req.header("origin"),
    fetchSite: req.header("sec-fetch-site"),
  });
}

/** Waits for the end of the upload: a client that is still sending would see a reset, not an early answer. */
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
