// Places for connections: who makes way when they run out, and who never does.
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { parseMetrics } from "../support/http/metrics-text.js";
import { chatPath, postHead, type RawClient, rawClient } from "../support/http/raw-socket.js";
import { type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";

const health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
const start = (lines: string) => startJudgeServer(`[server]\n${lines}\n${tinyConfig}`, {}, false);

/** A client whose connection the server has taken. */
async function connected(server: JudgeServer, bytes = ""): Promise<RawClient> {
  const client = rawClient(server.url);
  await once(client.socket, "connect");
  if (bytes !== "") await client.write(bytes);
  return client;
}

/** A client whose request is in progress: the server waits for its body. */
async function busyClient(server: JudgeServer): Promise<RawClient> {
  const client = await connected(server, postHead(chatPath, 1000, ["Expect: 100-continue"]));
  assert.equal((await client.answer())?.status, 100);
  return client;
}

async function asks(client: RawClient, request = health): Promise<number | undefined> {
  await client.write(request);
  return (await client.answer())?.status;
}

/** The count of closed connections, asked for on a connection that is there. */
async function closed(client: RawClient, reason: string): Promise<number | undefined> {
  await client.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const series = parseMetrics((await client.answer())!.body);
  return series.get(`prefill_judge_connections_closed_total{reason="${reason}"}`);
}

describe("when places run out", { concurrency: 8 }, () => {
  for (const [name, bytes] of [
    ["say nothing", ""],
    ["stop within their headers", "GET /health HTTP/1.1\r\nHost: loc"],
  ] as const) {
    test(`clients that ${name} lock nobody out`, async () => {
      const server = await start("max_connections = 8");
      const silent: RawClient[] = [];
      for (let count = 0; count < 40; count++) silent.push(await connected(server, bytes));
      const client = await connected(server);
      assert.equal(await asks(client), 200);
      assert.equal(await closed(client, "idle"), 33);
      const lines = server.logLines.filter((line) => line.includes("connections closed"));
      assert.equal(lines.length, 1, "one line a minute");
      for (const { close } of [...silent, client]) close();
      await server.close();
    });
  }

  test("those make way that have been idle for longest, whether or not they ever asked", async () => {
    const server = await start("max_connections = 3");
    const [first, second, third] = [
      await connected(server),
      await connected(server),
      await connected(server),
    ];
    // now the second has been idle for longest, then the third
    assert.equal(await asks(third), 200);
    assert.equal(await asks(first), 200);
    const fourth = await connected(server);
    assert.equal(await asks(fourth), 200);
    assert.equal(await second.answer(), null);
    const fifth = await connected(server);
    assert.equal(await asks(fifth), 200);
    assert.equal(await third.answer(), null);
    assert.equal(await asks(first), 200);
    for (const { close } of [first, fourth, fifth]) close();
    await server.close();
  });

  test("requests in progress keep their place; beside them only probes are answered", async () => {
    const server = await start("max_connections = 2");
    const busy = [await busyClient(server), await busyClient(server)];
    for (const path of ["/health", "/ready?full"]) {
      const probe = await connected(server);
      await probe.write(health.replace("/health", path));
      const answer = await probe.answer();
      assert.notEqual(answer?.status, undefined, path);
      assert.match(answer!.body, /"status":"ok"|"ready":false/);
      assert.equal(answer!.headers.connection, "close");
      probe.close();
    }
    const other = await connected(server);
    await other.write("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const refusal = await other.answer();
    assert.equal(refusal?.status, 503);
    assert.match(refusal.body, /server\.max_connections/);
    assert.equal(await other.answer(), null);
    // one that has its answer makes way again
    assert.equal(await asks(busy[0]!, " ".repeat(1000)), 400);
    const later = await connected(server);
    assert.equal(await asks(later, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
    for (const { close } of [...busy, later]) close();
    await server.close();
  });

  test("silent ones beside busy ones do not keep probes out either", async () => {
    const server = await start("max_connections = 1");
    const busy = await busyClient(server);
    const silent: RawClient[] = [];
    for (let count = 0; count < 40; count++) silent.push(await connected(server));
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
    for (const { close } of [...silent, busy]) close();
    await server.close();
  });
});

test("an answer that its client does not take costs the client its place", async () => {
  const server = await start("request_timeout_ms = 1000");
  const client = await connected(server);
  client.socket.pause();
  // more than the kernel keeps for a reader that does not come
  const requests = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(300);
  client.socket.write(requests);
  const gone = once(client.socket, "close");
  client.socket.on("error", () => {});
  const watcher = await connected(server);
  while ((await closed(watcher, "unread")) === 0) await new Promise((resolve) => setTimeout(resolve, 100));
  client.socket.resume();
  await gone;
  assert.ok(server.logLines.some((line) => line.includes('"unread":1')));
  watcher.close();
  await server.close();
});
