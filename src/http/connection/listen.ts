// Opens the port and closes it again. Its timeouts suit clients that keep idle sockets for 90 s. It answers
// what no route ever sees, in the envelope of the path's API.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import { JudgeError } from "../../errors.js";
import type { Closing } from "../../observe/metrics.js";
import { envelopeOf } from "../apis/apis.js";
import { maxUploadMs } from "../body/upload.js";
import { type ErrorStatus, statusOf } from "../errors.js";
import type { AppEnv } from "../service.js";
import { createClientErrors, endAfterAnswers, type OnRefusal, refuseSocket } from "./client-errors.js";
import { requestArrived } from "./connection.js";
import { createPageGuard, isLoopbackAddress, type PageGuard } from "./page-guard.js";
import { createPlaces } from "./places.js";

/** Longer than the 90 s for which Rust and Go clients keep an idle socket, so that they close first. */
const keepAliveTimeoutMs = 95_000;
/** How often Node looks for requests that are over their time. */
const checkIntervalMs = 500;
/** Node's own limit is the last one. Bodies have theirs where they are read. */
const fallbackMs = 2000;

/** What is answered even where all places are taken. */
const probe = /^\/(health|ready)(\?|$)/;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  readonly keys: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly allowedHosts: readonly string[];
  /** headers and body must be in by then, and an answer be taken */
  readonly requestTimeoutMs: number;
  readonly maxHeaderBytes: number;
  readonly onRefusal: OnRefusal;
  /** told of every connection that was closed before its client did */
  onClosed(reason: Closing): void;
}

export interface Listening {
  readonly host: string;
  readonly port: number;
  /** whether only this machine reaches it */
  readonly isLoopback: boolean;
  /** Stops accepting, ends idle connections, and waits for running answers for at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** @throws JudgeError `listen` when the address cannot be had */
export async function listen(app: Hono<AppEnv>, options: ListenOptions): Promise<Listening> {
  const { requestTimeoutMs, onRefusal } = options;
  const server = createServer({
    maxHeaderSize: options.maxHeaderBytes,
    requireHostHeader: false,
    keepAliveTimeout: keepAliveTimeoutMs,
    requestTimeout: maxUploadMs(requestTimeoutMs) + fallbackMs,
    headersTimeout: Math.min(requestTimeoutMs, 15_000),
    connectionsCheckingInterval: checkIntervalMs,
  });
  await open(server, options);
  // no connection is taken before the next turn of the event loop, so all listeners are in time
  const { address, port } = server.address() as AddressInfo;
  const pageGuard = createPageGuard({ ...options, address, hasKeys: options.keys.length > 0 });
  const refuse = refuser(onRefusal);
  const answer = answerer(app, pageGuard, onRefusal);
  const places = createPlaces({
    maxConnections: options.maxConnections,
    maxLooks: Math.ceil(requestTimeoutMs / checkIntervalMs),
    onClosed: options.onClosed,
  });
  const looking = setInterval(places.look, checkIntervalMs).unref();
  server.on("connection", places.connected);
  server.on("request", (incoming, outgoing) => {
    requestArrived({ incoming, outgoing });
    const hasPlace = places.requested(incoming, outgoing);
    if (!hasPlace) outgoing.shouldKeepAlive = false;
    if (hasPlace || probe.test(incoming.url ?? "")) answer(incoming, outgoing);
    else refuse(incoming, outgoing, noPlace(), 503);
  });
  server.on("checkExpectation", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const text = { found: "this expectation is not known", remedy: "leave the header out" };
    refuse(incoming, outgoing, new JudgeError("invalid_request", text), 417);
  });
  const detached = refuseConnects(server, onRefusal);
  server.on("clientError", createClientErrors(onRefusal, options.maxHeaderBytes));
  // a connection that cannot be accepted, as without file descriptors to spare, is lost alone
  server.on("error", () => {});
  return {
    host: options.host,
    port,
    isLoopback: isLoopbackAddress(address),
    async close(graceMs) {
      const closed = once(server, "close").finally(() => clearInterval(looking));
      server.close();
      const timer = setTimeout(() => {
        server.closeAllConnections();
        for (const socket of detached) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

/** Hands requests to the app, but for those that are malformed as HTTP. */
function answerer(app: Hono<AppEnv>, pageGuard: PageGuard, onRefusal: OnRefusal) {
  const refuse = refuser(onRefusal);
  // it takes a lighter Response for Node's in this process
  const answer = getRequestListener(
    (request, env) => app.fetch(request, Object.assign(env as HttpBindings, { pageGuard })),
    {
      errorHandler: () => {
        const error = new JudgeError("invalid_request", { found: "the path is not valid" });
        const headers = { "x-request-id": onRefusal(error, 400) };
        const content = envelopeOf("").render(error, 400, headers["x-request-id"]);
        return Response.json(content, { status: 400, headers });
      },
    },
  );
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    // Node drops what comes behind such a request in the same packet
    if (incoming.headers.upgrade !== undefined) outgoing.shouldKeepAlive = false;
    if (incoming.httpVersion !== "1.0" && incoming.headers.host === undefined) {
      const error = new JudgeError("invalid_request", { found: "HTTP/1.1 wants a Host header" });
      refuse(incoming, outgoing, error, statusOf(error));
      return;
    }
    // nothing of a URL is used but its path, so that a Host that is none in a URL is as good as any
    incoming.headers.host = "localhost";
    if (incoming.url === "*" && incoming.method === "OPTIONS") incoming.url = "/";
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  };
}

/** Refuses a request that the app never sees, and ends its connection. */
function refuser(onRefusal: OnRefusal) {
  return (
    { url = "" }: IncomingMessage,
    outgoing: ServerResponse,
    error: JudgeError,
    status: ErrorStatus,
  ): void => {
    const id = onRefusal(error, status);
    outgoing.writeHead(status, {
      "content-type": "application/json",
      "x-request-id": id,
      connection: "close",
    });
    outgoing.end(JSON.stringify(envelopeOf(url).render(error, status, id)));
  };
}

/** Refuses CONNECT. Node lets go of such a connection; gives those that are still open. */
function refuseConnects(server: Server, onRefusal: OnRefusal): ReadonlySet<Duplex> {
  const detached = new Set<Duplex>();
  server.on("connect", (_: IncomingMessage, socket: Duplex) => {
    detached.add(socket);
    // nobody else hears that it was reset
    socket.on("error", () => {}).once("close", () => detached.delete(socket));
    const error = new JudgeError("method_not_allowed", { found: "this is no proxy" });
    if (!endAfterAnswers(socket)) refuseSocket(socket, { error, status: statusOf(error) }, onRefusal);
  });
  return detached;
}

/** @throws JudgeError `listen` */
async function open(server: Server, { host, port }: ListenOptions): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const found = `cannot listen on ${host}:${port} (${code})`;
    const remedy =
      code === "EADDRINUSE"
        ? "stop what listens there, or give another --port"
        : "give another --host or --port";
    throw new JudgeError("listen", { found, remedy, cause: error });
  }
}

function noPlace(): JudgeError {
  return new JudgeError("overloaded", {
    found: "all connections are busy",
    remedy: "send this again later, or raise server.max_connections",
  });
}
