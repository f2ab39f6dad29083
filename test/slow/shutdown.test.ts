// The end of a real `serve` process: by signal under load, under a hanging upload, while it starts, and by
// force.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertEnvelope, chatPath, postHead, rawClient } from "../support/http/raw-socket.js";
import { tinyConfig } from "../support/judge-server.js";
import { startLoad } from "../support/server-load.js";
import { isRunning, type ServeProcess, startServe } from "../support/server-process.js";

const graceMs = 2000;
const marginMs = 4000;
const config = `[server]\nshutdown_grace_ms = ${graceMs}\n${tinyConfig}`;
const health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** Sends SIGTERM while the client holds its connection. */
async function endsInGrace(server: ServeProcess, client: ReturnType<typeof rawClient>): Promise<void> {
  server.signal("SIGTERM");
  try {
    assert.deepEqual(await server.ended(graceMs + marginMs), { code: 0, signal: null });
  } finally {
    client.close();
    await server.kill();
  }
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} under 20 busy clients: not ready, Connection: close, every request answered whole, exit code 0`, async (context) => {
    const server = await startServe(config);
    const [encoder] = server.encoderPids();
    const load = startLoad(server.url, 20);
    await sleep(300);
    const started = performance.now();
    server.signal(signal);
    await sleep(100);
    const ready = await fetch(`${server.url}/ready`);
    assert.equal(ready.status, 503);
    assert.equal(ready.headers.get("connection"), "close");
    const outcome = await server.ended(graceMs + marginMs);
    const elapsedMs = performance.now() - started;
    const { answered, closing, cut, refusedConnections } = await load.stop();

    assert.deepEqual(outcome, { code: 0, signal: null });
    assert.deepEqual(cut, []);
    assert.ok(answered.size > 10, `${answered.size} answers`);
    assert.ok(closing > 0, "an answer during the drain says Connection: close");
    const taken = server.errors.matchAll(/"request_id":"(load-[^"]+)"/g);
    const unanswered = [...taken].map((match) => match[1]!).filter((id) => !answered.has(id));
    assert.deepEqual(unanswered, [], "a request that was taken in was answered");
    assert.ok(!server.errors.includes("client_gone"), "no request was cut");
    assert.equal(isRunning(encoder!), false);
    context.diagnostic(
      `${answered.size} answers, ${closing} with Connection: close, ended after ${Math.round(elapsedMs)} ms, ` +
        `${refusedConnections} connections not taken any more`,
    );
  });
}

test("requests sent one behind the other before SIGTERM are all answered, the last with Connection: close", async () => {
  const server = await startServe(config);
  const client = rawClient(server.url);
  const texts = Array.from({ length: 6 }, (_, index) => `Task ${index}. ${"Add two and two. ".repeat(40)}`);
  const requests = texts.map((content) => {
    const body = JSON.stringify({ messages: [{ role: "user", content }] });
    return `${postHead(chatPath, body.length)}${body}`;
  });
  await client.write(requests.join(""));
  server.signal("SIGTERM");
  const answers = [];
  for (let answer = await client.answer(); answer !== null; answer = await client.answer())
    answers.push(answer);
  assert.deepEqual(
    answers.map(({ status }) => status),
    texts.map(() => 200),
  );
  assert.equal(answers.at(-1)!.headers.connection, "close");
  assert.deepEqual(await server.ended(graceMs + marginMs), { code: 0, signal: null });
});

test("what began before SIGTERM is answered after it, with Connection: close: a request, a preflight", async () => {
  const origin = "http://a.example";
  const server = await startServe(config.replace("[server]", `[server]\ncors_origins = ["${origin}"]`));
  const preflight = `OPTIONS ${chatPath} HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: POST\r\n`;
  const body = JSON.stringify({ messages: [{ role: "user", content: "Add two and two." }] });
  const clients = [
    { client: rawClient(server.url), begin: postHead(chatPath, body.length), end: body, status: 200 },
    { client: rawClient(server.url), begin: preflight, end: "\r\n", status: 204 },
  ];
  for (const { client, begin } of clients) await client.write(begin);
  await sleep(100);
  server.signal("SIGTERM");
  await sleep(100);
  for (const { client, end, status } of clients) {
    await client.write(end);
    const answer = await client.answer();
    assert.deepEqual([answer?.status, answer?.headers.connection], [status, "close"]);
    client.close();
  }
  assert.deepEqual(await server.ended(graceMs + marginMs), { code: 0, signal: null });
});

describe("SIGTERM ends the server within its grace, exit code 0", { concurrency: 4 }, () => {
  for (const [name, bytes, first] of [
    ["an upload that hangs", `${postHead(chatPath, 100)}{`, null],
    ["headers that hang", "POST /v1/chat", null],
    ["a connection that has sent nothing", "", null],
    ["a connection that idles", health, 200],
    ["a refused connection that its client holds open", "garbage\r\n\r\n", 400],
  ] as const) {
    test(`under ${name}`, async () => {
      const server = await startServe(config);
      const client = rawClient(server.url, { heldOpen: true });
      await client.write(bytes);
      if (first !== null) assert.equal((await client.answer())?.status, first);
      await sleep(100);
      await endsInGrace(server, client);
    });
  }

  test("under a client that reads no answer and then asks for a tunnel", async () => {
    const server = await startServe(config);
    const client = rawClient(server.url, { heldOpen: true });
    client.socket.pause();
    await client.write(health.replace("/health", "/openapi.json").repeat(400));
    await client.write("CONNECT a.example:1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await sleep(500);
    await endsInGrace(server, client);
  });

  test("under an upload that was cut with a 408 and is held open by its client", async () => {
    const toml = config.replace("[server]", "[server]\nrequest_timeout_ms = 200");
    const server = await startServe(toml);
    const client = rawClient(server.url, { heldOpen: true });
    await client.write(`${postHead(chatPath, 100)}{`);
    assertEnvelope(await client.answer(), 408, "request_timeout");
    await endsInGrace(server, client);
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`while it starts, by ${signal}: never ready, nothing left behind`, async () => {
      const server = await startServe(config, { until: /"msg":"listening"/ });
      const encoders = server.encoderPids();
      server.signal(signal);
      assert.deepEqual(await server.ended(graceMs + marginMs), { code: 0, signal: null });
      assert.equal(server.output, "");
      assert.ok(!server.errors.includes("    at "), server.errors);
      assert.deepEqual(encoders.filter(isRunning), []);
    });
  }
});

test("kill -9 of the server under load leaves no encoder process behind", async () => {
  const server = await startServe(config);
  const encoders = server.encoderPids();
  assert.equal(encoders.length, 1);
  assert.ok(isRunning(encoders[0]!));
  const load = startLoad(server.url, 4);
  await sleep(100);
  await server.kill();
  const end = performance.now() + 2000;
  while (isRunning(encoders[0]!) && performance.now() < end) await sleep(20);
  assert.equal(isRunning(encoders[0]!), false);
  await load.stop();
});
