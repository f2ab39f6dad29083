// Opens the port and closes it again. Timeouts are set for clients that keep idle sockets for 90 s; what is not HTTP, or
// too slow, gets its answer here, since no route ever sees it.
import { once } from "node:events";
import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import type { Hono } from "hono";
import { JudgeError } from "../errors.js";
import { errorEnvelope, wireForm } from "./errors.js";
import type { AppEnv } from "./service.js";

/** Longer than the 90 s for which Rust and Go clients keep an idle socket, so that they close first. */
const keepAliveTimeoutMs = 95_000;
/** How often Node looks for requests that are over their time. */
const checkIntervalMs = 500;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  /** headers and body must be in by then */
  readonly requestTimeoutMs: number;
}

export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Stops accepting, ends idle connections, waits for running answers; ends those that take longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** @throws JudgeError `listen` when the address cannot be had */
export async function listen(app: Hono<AppEnv>, options: ListenOptions): Promise<Listening> {
  const { host, port, requestTimeoutMs } = options;
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: {
      keepAliveTimeout: keepAliveTimeoutMs,
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, 15_000),
      connectionsCheckingInterval: checkIntervalMs,
    },
  }) as Server;
  server.maxConnections = options.maxConnections;
  server.on("clientError", answerClientError);
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const remedy =
      code === "EADDRINUSE"
        ? "stop what listens there, or give another --port"
        : "give another --host or --port";
    throw new JudgeError("listen", `cannot listen on ${host}:${port} (${code}); ${remedy}`, { cause: error });
  }
  const address = server.address();
  return {
    host,
    port: typeof address === "object" && address !== null ? address.port : port,
    async close(graceMs) {
      const closed = once(server, "close");
      server.close();
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

const statusTexts: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** The envelope for what Node's parser gave up on; the connection ends with it. */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  // a connection that was reset, or whose answer has begun, takes no other
  if (!socket.writable || error.code === "ECONNRESET" || answerHasBegun(socket)) {
    socket.destroy();
    return;
  }
  const late = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  const tooLarge = error.code === "HPE_HEADER_OVERFLOW";
  const refusal = late
    ? new JudgeError("request_timeout", "the request was not complete in time; send it faster")
    : new JudgeError(
        "invalid_request",
        tooLarge ? "the headers are too large" : "this is not an HTTP request",
      );
  const status = tooLarge ? 431 : wireForm(refusal).status;
  const body = errorEnvelope(refusal);
  socket.end(
    `HTTP/1.1 ${status} ${statusTexts[status]}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function answerHasBegun(socket: Duplex): boolean {
  const { _httpMessage: message } = socket as Duplex & { _httpMessage?: { headersSent: boolean } | null };
  return message?.headersSent === true;
}
