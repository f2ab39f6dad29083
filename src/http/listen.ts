// Opens the port and closes it again. Timeouts are set for clients that keep idle sockets for 90 s.
import { once } from "node:events";
import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import type { Hono } from "hono";
import { JudgeError } from "../errors.js";
import type { AppEnv } from "./service.js";

/** Longer than the 90 s for which Rust and Go clients keep an idle socket, so that they close first. */
const keepAliveTimeoutMs = 95_000;

export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Stops accepting, waits for running answers, closes idle sockets. */
  close(): Promise<void>;
}

/** @throws JudgeError `listen` when the address cannot be had */
export async function listen(
  app: Hono<AppEnv>,
  { host, port }: { host: string; port: number },
): Promise<Listening> {
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server;
  server.keepAliveTimeout = keepAliveTimeoutMs;
  server.headersTimeout = keepAliveTimeoutMs + 5_000;
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
    async close() {
      const closed = once(server, "close");
      server.close();
      await closed;
    },
  };
}
