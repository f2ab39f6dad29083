// Browsers: no page may read an answer unless its origin is configured.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startKeyedServer } from "../support/http/keys-server.js";
import { chatPath } from "../support/http/raw-socket.js";
import { type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readError } from "../support/verdict.js";

const origin = "https://console.example";
const other = "https://console.example.evil.test";
const corsHeaders = (response: Response) =>
  [...response.headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("without cors_origins", () => {
  let server: JudgeServer;
  before(async () => {
    server = await startKeyedServer({ toml: tinyConfig, env: { PREFILL_JUDGE_API_KEYS: "cors-key" } });
  });
  after(() => server.close());

  test("no answer carries a CORS header, and a preflight is no request", async () => {
    for (const [method, path, status] of [
      ["OPTIONS", chatPath, 405],
      ["OPTIONS", "/none", 404],
      ["POST", chatPath, 400],
      ["GET", "/v1/models", 200],
      ["GET", "/metrics", 200],
    ] as const) {
      const headers = {
        origin,
        "access-control-request-method": "POST",
        authorization: "Bearer cors-key",
      };
      const response = await fetch(server.url + path, { method, headers });
      assert.equal(response.status, status);
      assert.deepEqual(corsHeaders(response), []);
      await response.arrayBuffer();
    }
  });
});

describe("with cors_origins and keys", () => {
  const folder = mkdtempSync(join(tmpdir(), "judge-cors-"));
  let server: JudgeServer;
  before(async () => {
    const keys = join(folder, "keys");
    writeFileSync(keys, "cors-key\n");
    const table = `[server]\ncors_origins = ["http://localhost:3000", "${origin}"]\napi_keys_file = "${keys}"\n`;
    server = await startJudgeServer(table + tinyConfig, {}, false);
  });
  after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const preflight = (from: string, path = chatPath) =>
    fetch(server.url + path, {
      method: "OPTIONS",
      headers: {
        origin: from,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-request-id",
      },
    });

  test("the origin's preflight is answered without a key and admits the headers of a call", async () => {
    for (const path of [chatPath, "/v1/score", "/v1/models"]) {
      const response = await preflight(origin, path);
      assert.equal(response.status, 204);
      assert.equal(response.headers.get("access-control-allow-origin"), origin);
      assert.match(response.headers.get("access-control-allow-methods")!, /\bPOST\b/);
      assert.match(response.headers.get("access-control-allow-headers")!, /authorization.*content-type/);
      assert.match(response.headers.get("vary")!, /\borigin\b/i);
    }
  });

  test("another origin's preflight admits nothing", async () => {
    for (const from of [other, "null", "https://CONSOLE.example", "http://console.example"]) {
      assert.equal((await preflight(from)).headers.get("access-control-allow-origin"), null, from);
    }
  });

  test("the origin may read answers and refusals, another may not", async () => {
    const body = JSON.stringify({ messages: [{ role: "user", content: " " }] });
    for (const [authorization, path, status] of [
      ["Bearer cors-key", chatPath, 200],
      ["Bearer wrong", chatPath, 401],
      ["Bearer cors-key", "/none", 404],
      ["Bearer cors-key", "/v1/models", 405],
    ] as const) {
      for (const from of [origin, other]) {
        const headers = { origin: from, authorization };
        const response = await fetch(server.url + path, { method: "POST", body, headers });
        assert.equal(response.status, status);
        const allowed = response.headers.get("access-control-allow-origin");
        assert.equal(allowed, from === origin ? origin : null, `${status}`);
        if (status === 200) await response.arrayBuffer();
        else await readError(response);
      }
    }
  });
});
