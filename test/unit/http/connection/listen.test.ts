// What goes wrong beside a request, in a listener of the server's, ends nothing but its connection.
import assert from "node:assert/strict";
import { once } from "node:events";
import { Server } from "node:http";
import { connect } from "node:net";
import { mock, test } from "node:test";
import { Hono } from "hono";
import { listen } from "../../../../src/http/connection/listen.js";
import type { AppEnv } from "../../../../src/http/service.js";

const options = {
  host: "127.0.0.1",
  port: 0,
  maxConnections: 8,
  keys: [],
  corsOrigins: [],
  allowedHosts: [],
  maxHeaderBytes: 16_384,
  requestTimeoutMs: 1000,
  onClosed: () => {},
};

test("an answer that fails, and its refusal too, costs its own connection", async () => {
  const app = new Hono<AppEnv>();
  app.get("/", (context) => context.text("ok"));
  const onRefusal = () => {
    throw new Error("a bug");
  };
  const listening = await listen(app, { ...options, onRefusal });
  // the path cannot be part of a URL: the library's own error handler refuses, which fails
  const socket = connect(listening.port, "127.0.0.1");
  socket.end("GET /a\\b HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await once(socket.resume(), "close");
  assert.equal(await (await fetch(`http://127.0.0.1:${listening.port}`)).text(), "ok");
  await listening.close(0);
});

test("a connection that cannot be accepted is lost alone", async () => {
  const app = new Hono<AppEnv>();
  app.get("/", (context) => context.text("ok"));
  const emitted = mock.method(Server.prototype, "emit");
  const listening = await listen(app, { ...options, onRefusal: () => "id" });
  const server = emitted.mock.calls[0]!.this as Server;
  emitted.mock.restore();
  server.emit("error", Object.assign(new Error("accept"), { code: "ENOMEM" }));
  assert.equal(await (await fetch(`http://127.0.0.1:${listening.port}`)).text(), "ok");
  await listening.close(0);
});
