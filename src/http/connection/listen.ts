// Opens the port and closes it again. Timeouts are set for clients that keep idle sockets for 90 s; what no route ever sees,
// since it is not a request we take, gets its answer here, in the same envelope.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import { JudgeError } from "../../errors.js";
import type { Closing } from "../../observe/metrics.js";
import { errorEnvelope } from "../errors.js";
import { createPageGuard, isLoopbackAddress, type PageGuard } from "../page-guard.js";
import type { AppEnv } from "../service.js";
import { createClientErrors, type OnRefusal, refuseSocket } from "./client-errors.js";
import { afterAnswers, requestArrived } from "./connection.js";
import { createPlaces } from "./places.js";

/** Longer than the 90 s for which Rust and Go clients keep an idle socket, so that they close first. */
const keepAliveTimeoutMs = 95_000;
/** How often Node looks for requests that are over their time. */
const checkIntervalMs = 500;
/** Node's own limit only catches what has no route yet: bodies are timed where they are read. */
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
  /** Stops accepting, ends idle connections, waits for running answers; ends those that take longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** @throws JudgeError `listen` when the address cannot be had */
export async function listen(app: Hono<AppEnv>, options: ListenOptions): Promise<Listening> {
  const { host, port, requestTimeoutMs, onRefusal } = options;
  const refuse = (outgoing: ServerResponse, error: JudgeError, status: number) => {
    const id = onRefusal(error, status);
    outgoing.writeHead(status, {
      "content-type": "application/json",
      "x-request-id": id,
      connection: "close",
    });
    outgoing.end(errorEnvelope(error));
  };
  let pageGuard: PageGuard;
  // its lighter Response takes the place of Node's in this process: 0.2 to 0.35 ms less of a judged request
  const answer = getRequestListener(
    (request, env) => app.fetch(request, Object.assign(env as HttpBindings, { pageGuard })),
    {
      errorHandler: () => {
        const error = new JudgeError("invalid_request", { found: "the path is not valid" });
        const id = onRefusal(error, 400);
        const headers = { "content-type": "application/json", "x-request-id": id };
        return new Response(errorEnvelope(error), { status: 400, headers });
      },
    },
  );
  const places = createPlaces({
    maxConnections: options.maxConnections,
    maxLooks: Math.ceil(requestTimeoutMs / checkIntervalMs),
    onClosed: options.onClosed,
  });
  const server = createServer(
    {
      maxHeaderSize: options.maxHeaderBytes,
      requireHostHeader: false,
      keepAliveTimeout: keepAliveTimeoutMs,
      // a body may wait as long for room as it may take
      requestTimeout: 2 * requestTimeoutMs + fallbackMs,
      headersTimeout: Math.min(requestTimeoutMs, 15_000),
      connectionsCheckingInterval: checkIntervalMs,
    },
    (incoming: IncomingMessage, outgoing: ServerResponse) => {
      requestArrived({ incoming, outgoing });
      const hasPlace = places.requested(incoming, outgoing);
      if (!hasPlace) {
        outgoing.shouldKeepAlive = false;
        if (!probe.test(incoming.url ?? "")) return refuse(outgoing, noPlace(), 503);
      }
      // Node drops what comes behind such a request in the same packet
      if (incoming.headers.upgrade !== undefined) outgoing.shouldKeepAlive = false;
      if (incoming.httpVersion === "1.0" || incoming.headers.host !== undefined) {
        // nothing of a URL is used but its path: a Host that is none in a URL is as good as any
        incoming.headers.host = "localhost";
        if (incoming.url === "*" && incoming.method === "OPTIONS") incoming.url = "/";
        answer(incoming, outgoing).catch(() => outgoing.destroy());
      } else
        refuse(outgoing, new JudgeError("invalid_request", { found: "HTTP/1.1 wants a Host header" }), 400);
    },
  );
  server.on("connection", places.connected);
  const looking = setInterval(places.look, checkIntervalMs).unref();
  server.on("checkExpectation", (_: IncomingMessage, outgoing: ServerResponse) => {
    refuse(
      outgoing,
      new JudgeError("invalid_request", {
        found: "this expectation is not known",
        remedy: "leave the header out",
      }),
      417,
    );
  });
  /** connections that Node has let go of */
  const detached = new Set<Duplex>();
  server.on("connect", (_: IncomingMessage, socket: Duplex) => {
    detached.add(socket);
    // nobody else hears that it was reset
    socket.on("error", () => {}).once("close", () => detached.delete(socket));
    const refusal = new JudgeError("method_not_allowed", { found: "this is no proxy" });
    afterAnswers(socket, () => refuseSocket(socket, refusal, 405, onRefusal));
  });
  server.on("clientError", createClientErrors(onRefusal, options.maxHeaderBytes));
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const remedy =
      code === "EADDRINUSE"
        ? "stop what listens there, or give another --port"
        : "give another --host or --port";
    throw new JudgeError(
      "listen",
      { found: `cannot listen on ${host}:${port} (${code})`, remedy: remedy },
      { cause: error },
    );
  }
  // a connection that cannot be accepted, as without file descriptors to spare, is lost alone
  server.on("error", () => {});
  const { address, port: boundPort } = server.address() as AddressInfo;
  const { allowedHosts, corsOrigins } = options;
  pageGuard = createPageGuard({
    address,
    host,
    allowedHosts,
    corsOrigins,
    hasKeys: options.keys.length > 0,
  });
  return {
    host,
    port: boundPort,
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

function noPlace(): JudgeError {
  return new JudgeError("overloaded", {
    found: "all connections are busy",
    remedy: "send this again later, or raise server.max_connections",
  });
}
