// Limits on connections: how many, how long idle, and what is not an HTTP request at all.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { apiRequests } from "../support/http/api-requests.js";
import { assertEnvelope, chatPath, postHead, rawClient } from "../support/http/raw-socket.js";
import { type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";

const health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
const start = (lines: string) => startJudgeServer(`[server]\n${lines}\n${tinyConfig}`, {}, false);

describe("connections", { concurrency: 8 }, () => {
  test("an idle one is still there after Node's own 5 s, and is announced for 95 s or longer", async () => {
    const server = await start("");
    const client = rawClient(server.url);
    await client.write(health);
    const answer = await client.answer();
    assert.equal(answer?.headers.connection, "keep-alive");
    assert.ok(Number(/timeout=(\d+)/.exec(answer!.headers["keep-alive"]!)![1]) >= 95);
    await sleep(6500);
    await client.write(health);
    assert.equal((await client.answer())?.status, 200);
    client.close();
    await server.close();
  });

  for (const [name, bytes, status] of [
    ["of garbage", "garbage\r\n\r\n", 400],
    ["of a slow upload", `${postHead(chatPath, 10)}{`, 408],
  ] as const) {
    test(`give their place back after the refusal ${name}, though their client holds them open`, async () => {
      const server = await start("max_connections = 2\nrequest_timeout_ms = 300");
      const clients = [1, 2].map(() => rawClient(server.url, { heldOpen: true }));
      for (const client of clients) await client.write(bytes);
      for (const client of clients) assert.equal((await client.answer())?.status, status);
      try {
        await until(() => isServed(server.url), 5000);
      } finally {
        for (const client of clients) client.close();
        await server.close();
      }
    });
  }
});

describe("what is not a request", () => {
  let server: JudgeServer;
  before(async () => {
    server = await start("");
  });
  after(() => server.close());

  const overflow = `GET /health HTTP/1.1\r\nHost: localhost\r\nCookie: ${"a".repeat(20_000)}\r\n\r\n`;
  for (const [name, bytes, status] of [
    ["words", "hello there\r\n\r\n", 400],
    ["an unknown method", "FROBNICATE /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400],
    ["a header with a NUL", "GET /health HTTP/1.1\r\nHost: localhost\r\nA: \0\r\n\r\n", 400],
    [
      "two lengths",
      "POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
      400,
    ],
    [
      "a length and chunks",
      "POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
      400,
    ],
    [
      "a chunk of no size",
      "POST /score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      400,
    ],
    ["a negative length", "POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400],
    ["too large headers", overflow, 431],
    ["a too long path", `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431],
  ] as const) {
    test(`gets the envelope and its connection ends: ${name}`, async () => {
      const client = rawClient(server.url);
      await client.write(bytes);
      assertEnvelope(await client.answer(), status, "invalid_request");
      assert.equal(await client.answer(), null);
      client.close();
    });
  }

  test("is refused in the envelope of the API whose path it names, where that can be told", async () => {
    const tooLarge = `X-Large: ${"a".repeat(20_000)}`;
    for (const { api, path } of apiRequests("Hi")) {
      for (const [bytes, status] of [
        [postHead(path, 2, [tooLarge]), 431],
        [postHead(path, 2, ["Expect: 200-ok"]), 417],
        [postHead(path, 2).replace("Host: localhost\r\n", ""), 400],
      ] as const) {
        const client = rawClient(server.url);
        await client.write(bytes);
        const answer = await client.answer();
        assert.equal(answer?.status, status, path);
        assert.ok(api.errors.schema.safeParse(JSON.parse(answer!.body)).success, answer!.body);
        client.close();
      }
    }
  });

  const proxyVersion2 = Buffer.from("0d0a0d0a000d0a515549540a21110010cb007101cb007101c35000501f90", "hex");
  for (const [name, protocol, bytes, says] of [
    ["a TLS hello", "tls", Buffer.from("16030100c8010000c40303", "hex"), /TLS.*http:\/\//],
    ["an HTTP/2 preface", "http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", /HTTP\/2.*HTTP\/1\.1/],
    [
      "a PROXY line",
      "proxy",
      "PROXY TCP4 203.0.113.7 10.0.0.1 50000 8080\r\n",
      /PROXY protocol.*turn it off/,
    ],
    ["a PROXY header of version 2", "proxy", proxyVersion2, /PROXY protocol.*turn it off/],
  ] as const) {
    test(`is named, in the answer and in the log: ${name}`, async () => {
      const client = rawClient(server.url);
      await client.write(bytes);
      const answer = await client.answer();
      assertEnvelope(answer, 400, "invalid_request");
      assert.match(answer!.body, says);
      assert.ok(!answer!.body.includes("203.0.113.7"));
      assert.equal(await client.answer(), null);
      client.close();
      const line = server.logLines.findLast((text) => text.includes(answer!.headers["x-request-id"]!));
      assert.equal((JSON.parse(line!) as { protocol: string }).protocol, protocol);
    });
  }

  test("does not lend its name to what comes later on a connection", async () => {
    const client = rawClient(server.url);
    await client.write(health);
    assert.equal((await client.answer())?.status, 200);
    await client.write(Buffer.from("16030100c8010000c40303", "hex"));
    assert.ok(!(await client.answer())!.body.includes("TLS"));
    client.close();
  });

  test("is told what to do about headers that are too large, and a setting takes them", async () => {
    const client = rawClient(server.url);
    await client.write(overflow);
    assert.match((await client.answer())!.body, /16384 bytes.*server\.max_header_bytes/);
    client.close();
    const other = await start("max_header_bytes = 32768");
    const served = rawClient(other.url);
    await served.write(overflow);
    assert.equal((await served.answer())?.status, 200);
    served.close();
    await other.close();
  });

  test("is passed over after a request that ends the connection", async () => {
    const client = rawClient(server.url);
    await client.write(`${health.replace("Host", "Connection: close\r\nHost")}${health}`);
    assert.equal((await client.answer())?.status, 200);
    assert.equal(await client.answer(), null);
    client.close();
  });

  for (const [name, head] of [
    ["HTTP/1.1 without a Host", "GET /health HTTP/1.1\r\n\r\n"],
    ["a path with a backslash", "GET /v1\\health HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["an asterisk for a path", "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["a broken absolute path", "GET http://[/health HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["an expectation nobody knows", `${postHead("/score", 2).replace("Host", "Expect: 200-ok\r\nHost")}{}`],
  ] as const) {
    test(`gets a 4xx in the envelope: ${name}`, async () => {
      const client = rawClient(server.url);
      await client.write(head);
      const answer = await client.answer();
      assert.ok(answer !== null && answer.status >= 400 && answer.status < 500, `${answer?.status}`);
      assertEnvelope(answer, answer.status, "invalid_request");
      client.close();
    });
  }
});

describe("forms that are seldom seen and right", () => {
  let server: JudgeServer;
  before(async () => {
    server = await start("");
  });
  after(() => server.close());

  for (const [name, bytes] of [
    ["HTTP/1.0 without a Host, as of old", "GET /health HTTP/1.0\r\n\r\n"],
    ["a Host of another name", "GET /health HTTP/1.1\r\nHost: localhost_1.localhost:8080\r\n\r\n"],
    ["an IPv6 Host", "GET /health HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"],
    ["an absolute path, as to a proxy", "GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    [
      "an offer to upgrade",
      "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
    ],
    ["a query", "GET /health?probe=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["an empty line before it", "\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ] as const) {
    test(`are answered: ${name}`, async () => {
      const client = rawClient(server.url);
      await client.write(bytes);
      assert.equal((await client.answer())?.status, 200);
      client.close();
    });
  }

  test("are answered: Expect: 100-continue, the body only after the go-ahead", async () => {
    const client = rawClient(server.url);
    const body = JSON.stringify({ messages: [{ role: "user", content: " " }] });
    await client.write(postHead(chatPath, body.length, ["Expect: 100-continue"]));
    assert.equal((await client.answer())?.status, 100);
    await client.write(body);
    assert.equal((await client.answer())?.status, 200);
    client.close();
  });

  test("gets 426, by which its client knows that it must POST: a WebSocket", async () => {
    for (const path of ["/v1/responses", "/v1/chat/completions"]) {
      const client = rawClient(server.url);
      const lines = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13";
      await client.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${lines}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
      );
      const answer = await client.answer();
      assertEnvelope(answer, 426, "upgrade_required");
      assert.equal(answer!.headers.allow, "POST");
      assert.equal(await client.answer(), null);
      client.close();
    }
  });

  test("are answered in order: several requests sent at once", async () => {
    const client = rawClient(server.url);
    const body = JSON.stringify({ messages: [{ role: "user", content: " " }] });
    await client.write(
      `${postHead(chatPath, body.length)}${body}${health}${postHead("/none", 2)}{}${health}`,
    );
    for (const status of [200, 200, 404, 200]) assert.equal((await client.answer())?.status, status);
    client.close();
  });
});

/** Whether a new connection gets an answer. */
async function isServed(url: string): Promise<boolean> {
  const client = rawClient(url);
  await client.write(health);
  const answer = await client.answer();
  client.close();
  return answer?.status === 200;
}

async function until(condition: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    assert.ok(performance.now() < end, `not reached within ${timeoutMs} ms`);
    await sleep(50);
  }
}
