// A server on loopback that asks for no key serves the programs of this machine, not every web page that a
// browser shows.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startKeyedServer } from "../support/http/keys-server.js";
import { chatPath, type RawAnswer, rawClient } from "../support/http/raw-socket.js";
import { type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readError } from "../support/verdict.js";

const body = JSON.stringify({ messages: [{ role: "user", content: " " }] });
const start = (lines: string) => startJudgeServer(`[server]\n${lines}\n${tinyConfig}`, {}, false);
const post = (server: JudgeServer, headers: Record<string, string>, path = chatPath) =>
  fetch(server.url + path, { method: "POST", body, headers });

/** The answer to a bare request with this line and host. */
async function ask(server: JudgeServer, line: string, host: string): Promise<RawAnswer> {
  const client = rawClient(server.url);
  await client.write(`${line} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const answer = await client.answer();
  client.close();
  assert.ok(answer !== null);
  return answer;
}

describe("on loopback without keys", () => {
  let server: JudgeServer;
  before(async () => {
    server = await start("");
  });
  after(() => server.close());

  test("a page of another origin is refused whatever its content type, and nothing is judged", async () => {
    for (const type of ["text/plain", "application/json", "application/x-www-form-urlencoded"]) {
      for (const marks of [
        { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
        { origin: "null" },
        { "sec-fetch-site": "cross-site" },
      ]) {
        const response = await post(server, { "content-type": type, ...marks } as Record<string, string>);
        assert.equal(response.status, 403);
        const { code, message } = await readError(response);
        assert.equal(code, "origin_not_allowed");
        assert.match(message, /server\.cors_origins/);
        assert.ok(!message.includes("evil"));
      }
    }
    assert.ok(!server.logLines.some((line) => line.includes('"msg":"judged"')));
  });

  test("Anthropic's path refuses in Anthropic's envelope", async () => {
    const response = await post(server, { origin: "https://evil.example" }, "/v1/messages");
    assert.equal(response.status, 403);
    const answer = (await response.json()) as { type: string; error: { type: string } };
    assert.deepEqual([answer.type, answer.error.type], ["error", "permission_error"]);
  });

  test("a program is answered whatever its content type", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "", "nonsense"])
      assert.equal((await post(server, { "content-type": type })).status, 200, type);
  });

  test("a page that the server itself shows is answered", async () => {
    assert.equal((await post(server, { origin: server.url, "sec-fetch-site": "same-origin" })).status, 200);
  });

  test("a name that somebody else may own is refused on every path, and the setting named", async () => {
    for (const line of ["GET /health", "GET /v1/models", "POST /v1/messages", "GET /none", "OPTIONS *"]) {
      const answer = await ask(server, line, "evil.example:8080");
      assert.equal(answer.status, 403, line);
      assert.match(answer.body, /server\.allowed_hosts/);
      assert.ok(!answer.body.includes("evil"));
    }
    assert.equal((await ask(server, "GET http://evil.example/health", "localhost")).status, 403);
    const port = new URL(server.url).port;
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, "[::1]", "a.localhost", ""])
      assert.equal((await ask(server, "GET /health", host)).status, 200, host);
    assert.equal((await ask(server, "GET http://localhost/health", "localhost")).status, 200);
  });
});

test("allowed_hosts and cors_origins admit what they name", async () => {
  const server = await start(
    'allowed_hosts = ["judge.internal"]\ncors_origins = ["https://console.example"]',
  );
  try {
    assert.equal((await ask(server, "GET /health", "judge.internal")).status, 200);
    assert.equal((await ask(server, "GET /health", "other.internal")).status, 403);
    const marks = { origin: "https://console.example", "sec-fetch-site": "cross-site" };
    const response = await post(server, marks);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("access-control-allow-origin"), "https://console.example");
    assert.equal((await post(server, { origin: "https://evil.example" })).status, 403);
  } finally {
    await server.close();
  }
});

test('cors_origins = ["*"] admits every page, and lets it read', async () => {
  const server = await start('cors_origins = ["*"]');
  try {
    for (const origin of ["https://evil.example", "null"]) {
      const response = await post(server, { origin, "sec-fetch-site": "cross-site" });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("access-control-allow-origin"), "*");
    }
    assert.equal((await ask(server, "GET /health", "evil.example")).status, 403);
  } finally {
    await server.close();
  }
});

test("with keys a page has none, and every name of the server is as good as another", async () => {
  const server = await startKeyedServer({ toml: tinyConfig, env: { PREFILL_JUDGE_API_KEYS: "sk-1" } });
  try {
    const headers = { origin: "https://evil.example", "content-type": "text/plain" };
    assert.equal((await post(server, headers)).status, 401);
    assert.equal((await post(server, { ...headers, authorization: "Bearer sk-1" })).status, 200);
    for (const host of ["judge.internal", "[fe80::1%25eth0]:8080", "<judge>", "a b", "judge_1:99999"])
      assert.equal((await ask(server, "GET /health", host)).status, 200, host);
  } finally {
    await server.close();
  }
});

test("OPTIONS * says which methods there are", async () => {
  const server = await start("");
  try {
    const answer = await ask(server, "OPTIONS *", "localhost");
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.allow, "GET, HEAD, POST, OPTIONS");
    assert.match(answer.headers["x-request-id"]!, /./);
  } finally {
    await server.close();
  }
});
