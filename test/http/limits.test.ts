// Limits on what is uploaded: its size and its time. Every refusal must reach the client, also one that
// writes all before it reads.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertEnvelope, chatPath, postHead, rawClient } from "../support/http/raw-socket.js";
import { type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";

const maxBodyBytes = 65_536;
const requestTimeoutMs = 700;
const large = Buffer.alloc(8 * 2 ** 20, "x");
const limited = (lines = "") =>
  `[server]\nmax_body_bytes = ${maxBodyBytes}\nrequest_timeout_ms = 20000\n${lines}\n${tinyConfig}`;

/** The bytes of one upload in the three ways a body is framed. */
const framings = {
  "content-length": (path: string, body: Buffer) => [postHead(path, body.length), body],
  chunked(path: string, body: Buffer) {
    const pieces: (string | Buffer)[] = [
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ];
    for (let at = 0; at < body.length; at += 65_536) {
      const piece = body.subarray(at, at + 65_536);
      pieces.push(`${piece.length.toString(16)}\r\n`, piece, "\r\n");
    }
    return [...pieces, "0\r\n\r\n"];
  },
  "HTTP/1.0": (path: string, body: Buffer) => [
    postHead(path, body.length).replace("HTTP/1.1", "HTTP/1.0"),
    body,
  ],
};

describe("a body over max_body_bytes", () => {
  let server: JudgeServer;
  before(async () => {
    server = await startJudgeServer(limited(), {}, false);
  });
  after(() => server.close());

  for (const [framing, frame] of Object.entries(framings)) {
    test(`gets its 413 while it is sent: ${framing}`, async () => {
      const client = rawClient(server.url);
      for (const piece of frame(chatPath, large)) await client.write(piece);
      assertEnvelope(await client.answer(), 413, "body_too_large");
      client.close();
    });

    test(`gets its 413 when the client writes everything before it reads: ${framing}`, async () => {
      const client = rawClient(server.url);
      client.socket.pause();
      for (const piece of frame(chatPath, large)) await client.write(piece);
      assert.equal(client.socket.destroyed, false, "the upload was not drained");
      client.socket.resume();
      assertEnvelope(await client.answer(), 413, "body_too_large");
      client.close();
    });

    test(`of one byte is enough, and at the limit is none: ${framing}`, async () => {
      const client = rawClient(server.url);
      const body = Buffer.alloc(maxBodyBytes, " ");
      for (const piece of frame(chatPath, body)) await client.write(piece);
      assertEnvelope(await client.answer(), 400, "invalid_json");
      client.close();
      const other = rawClient(server.url);
      for (const piece of frame(chatPath, Buffer.alloc(maxBodyBytes + 1, " "))) await other.write(piece);
      assertEnvelope(await other.answer(), 413, "body_too_large");
      other.close();
    });
  }

  test("leaves the connection usable", async () => {
    const client = rawClient(server.url);
    for (const piece of framings.chunked(chatPath, large)) await client.write(piece);
    assertEnvelope(await client.answer(), 413, "body_too_large");
    await client.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert.equal((await client.answer())?.status, 200);
    client.close();
  });

  for (const [name, start, status, code] of [
    ["an unknown path", "POST /v2/none HTTP/1.1", 404, "not_found"],
    ["another method", `PUT ${chatPath} HTTP/1.1`, 405, "method_not_allowed"],
    ["a GET with a body", `GET ${chatPath} HTTP/1.1`, 405, "method_not_allowed"],
    [
      "a compressed body",
      `POST ${chatPath} HTTP/1.1\r\nContent-Encoding: gzip`,
      415,
      "unsupported_media_type",
    ],
    [
      "another charset",
      `POST ${chatPath} HTTP/1.1\r\nContent-Type: application/json; charset=utf-16`,
      415,
      "unsupported_media_type",
    ],
  ] as const) {
    test(`gets the early refusal after it has been sent: ${name}`, async () => {
      const client = rawClient(server.url);
      client.socket.pause();
      await client.write(`${start}\r\nHost: localhost\r\nContent-Length: ${large.length}\r\n\r\n`);
      await client.write(large);
      client.socket.resume();
      assertEnvelope(await client.answer(), status, code);
      client.close();
    });
  }
});

describe("an upload that is too slow", { concurrency: 12 }, () => {
  let server: JudgeServer;
  before(async () => {
    const toml = `[server]\nrequest_timeout_ms = ${requestTimeoutMs}\n${tinyConfig}`;
    server = await startJudgeServer(toml, {}, false);
  });
  after(() => server.close());

  const halves: Readonly<Record<string, string>> = {
    "nothing is sent": "",
    "headers stop": "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n",
    "a body stops": `${postHead(chatPath, 100)}{`,
    "a chunked body stops": `POST ${chatPath} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"m`,
  };
  for (const [name, bytes] of Object.entries(halves)) {
    test(`is cut with a 408: ${name}`, async () => {
      const client = rawClient(server.url);
      const started = performance.now();
      await client.write(bytes);
      const answer = await client.answer();
      const elapsedMs = performance.now() - started;
      assertEnvelope(answer, 408, "request_timeout");
      assert.equal(answer!.headers.connection, "close");
      assert.ok(elapsedMs >= requestTimeoutMs - 50 && elapsedMs < requestTimeoutMs + 5000, `${elapsedMs} ms`);
      client.close();
    });
  }

  for (const [name, head] of [
    ["headers", "GET /health HTTP/1.1\r\nHost: "],
    ["a body", postHead(chatPath, 10_000)],
  ] as const) {
    test(`is cut with a 408 however steadily it drips: ${name}`, async () => {
      const client = rawClient(server.url);
      await client.write(head);
      const drip = setInterval(() => void client.write("a"), 20);
      assertEnvelope(await client.answer(), 408, "request_timeout");
      clearInterval(drip);
      client.close();
    });
  }

  test("is counted as the 408 that its client got, not as a client that left", async () => {
    const client = rawClient(server.url);
    await client.write(`${postHead(chatPath, 100)}{`);
    assertEnvelope(await client.answer(), 408, "request_timeout");
    client.close();
    await sleep(100);
    const counts = (await (await fetch(`${server.url}/metrics`)).text())
      .split("\n")
      .filter((line) => line.startsWith('prefill_judge_requests_total{route="chat"'));
    assert.ok(
      counts.some((line) => line.includes('status="408"')),
      counts.join("\n"),
    );
  });

  test("is not what an idle connection is", async () => {
    const client = rawClient(server.url);
    await client.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert.equal((await client.answer())?.status, 200);
    await sleep(requestTimeoutMs + 700);
    await client.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert.equal((await client.answer())?.status, 200);
    client.close();
  });
});
