// Bearer keys: who gets in, what stays open, and that a key is never repeated.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { JudgeError } from "../../src/errors.js";
import { envelopeOf } from "../../src/http/apis/apis.js";
import { apiPaths } from "../support/http/api-requests.js";
import { configOf, startKeyedServer } from "../support/http/keys-server.js";
import { rawClient } from "../support/http/raw-socket.js";
import { type JudgeServer, tinyConfig } from "../support/judge-server.js";
import { readError } from "../support/verdict.js";

const fileKey = "sk-file-0Zq8";
const secondFileKey = "sk-file-second/+=";
const envKey = "sk-env-7Hq1";
const body = JSON.stringify({ messages: [{ role: "user", content: " " }] });
const guarded = [
  ...apiPaths.map((path) => ["POST", path] as const),
  ["POST", "/v1/score"],
  ["GET", "/v1/models"],
  ["GET", "/v1/models/tiny"],
  ["GET", "/models/nobody"],
] as const;

describe("keys by file and by environment", () => {
  let server: JudgeServer;
  before(async () => {
    server = await startKeyedServer({
      toml: `[server]\napi_keys_file = "keys.txt"\n${tinyConfig}`,
      env: { PREFILL_JUDGE_API_KEYS: `${envKey}, sk-env-other` },
      files: { "keys.txt": `# first line is a comment\r\n${fileKey}\r\n\r\n${secondFileKey}\r\n` },
    });
  });
  after(() => server.close());
  const ask = (authorization: string | undefined, method = "POST", path = "/v1/chat/completions") =>
    fetch(server.url + path, {
      method,
      headers: authorization === undefined ? {} : { authorization },
      ...(method === "POST" && { body }),
    });

  for (const key of [fileKey, secondFileKey, envKey, "sk-env-other"]) {
    test(`each key opens: ${key}`, async () => {
      assert.equal((await ask(`Bearer ${key}`)).status, 200);
    });
  }

  for (const scheme of ["bearer ", "BEARER ", "Bearer    "]) {
    test(`the scheme is read in any case and spacing: "${scheme}"`, async () => {
      assert.equal((await ask(`${scheme}${envKey}  `)).status, 200);
    });
  }

  for (const [name, authorization] of [
    ["none", undefined],
    ["an empty value", ""],
    ["the scheme alone", "Bearer"],
    ["the key alone", envKey],
    ["another key", "Bearer sk-env-7Hq2"],
    ["the key in other letters", `Bearer ${envKey.toUpperCase()}`],
    ["the start of a key", `Bearer ${envKey.slice(0, -1)}`],
    ["a key and more", `Bearer ${envKey}1`],
    ["two keys", `Bearer ${envKey} ${fileKey}`],
    ["two keys with a comma", `Bearer ${envKey},${fileKey}`],
    ["a key in quotes", `Bearer "${envKey}"`],
    ["Basic", `Basic ${Buffer.from(`user:${envKey}`).toString("base64")}`],
    ["another scheme", `Token ${envKey}`],
    ["a colon", `Bearer: ${envKey}`],
    ["a word of the file's comment", "Bearer comment"],
    ["8,000 characters", `Bearer ${"a".repeat(8000)}`],
    ["8,000 spaces", `Bearer ${" ".repeat(8000)}a ${" ".repeat(4000)}b`],
  ] as const) {
    test(`is refused with 401 in the envelope: ${name}`, async () => {
      const response = await ask(authorization);
      assert.equal(response.status, 401);
      assert.equal(response.headers.get("www-authenticate"), "Bearer");
      const { code, message } = await readError(response);
      assert.equal(code, "invalid_api_key");
      assert.ok(!/sk-|aaaa/.test(message));
    });
  }

  test("a key in another header is none", async () => {
    const headers = { "api-key": envKey, "x-goog-api-key": envKey, cookie: `key=${envKey}` };
    const response = await fetch(`${server.url}/v1/models?key=${envKey}`, { headers });
    assert.equal(response.status, 401);
  });

  test("x-api-key holds a key as it is, and one valid key is enough", async () => {
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${server.url}/v1/models`, { headers })).status;
    assert.equal(await status({ "x-api-key": envKey }), 200);
    assert.equal(await status({ "x-api-key": fileKey }), 200);
    for (const value of ["", `Bearer ${envKey}`, `${envKey}1`, envKey.slice(1)])
      assert.equal(await status({ "x-api-key": value }), 401, value);
    assert.equal(await status({ "x-api-key": "any", authorization: `Bearer ${envKey}` }), 200);
    for (const authorization of [
      "Bearer wrong",
      "Bearer ",
      "Bearer",
      "",
      "Basic dXNlcjpwYXNz",
      `Token ${envKey}`,
    ]) {
      assert.equal(await status({ "x-api-key": envKey, authorization }), 200, authorization);
      assert.equal(await status({ "x-api-key": "wrong", authorization }), 401, authorization);
    }
  });

  test("of two Authorization headers a wrong first one is not outdone by a right second", async () => {
    const client = rawClient(server.url);
    const lines = ["Bearer wrong", `Bearer ${envKey}`].map((value) => `Authorization: ${value}\r\n`).join("");
    await client.write(`GET /v1/models HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`);
    assert.equal((await client.answer())?.status, 401);
    client.close();
  });

  for (const [method, path] of guarded) {
    test(`${method} ${path} asks for a key, before it reads anything`, async () => {
      const response = await ask(undefined, method, path);
      assert.equal(response.status, 401);
      assert.ok(envelopeOf(path).schema.safeParse(await response.json()).success);
      assert.notEqual((await ask(`Bearer ${envKey}`, method, path)).status, 401);
    });
  }

  for (const path of ["/health", "/ready", "/metrics", "/openapi.json"]) {
    test(`${path} is open, and a wrong key does not close it`, async () => {
      for (const authorization of [undefined, "Bearer wrong"]) {
        assert.notEqual((await ask(authorization, "GET", path)).status, 401);
      }
    });
  }

  test("no key is repeated in a log line, an error or a metric", async () => {
    const texts = [];
    for (const [method, path] of guarded) {
      for (const authorization of [`Bearer ${envKey}`, `Bearer ${fileKey}x`, `Basic ${secondFileKey}`]) {
        const response = await ask(authorization, method, path);
        texts.push(await response.text(), ...[...response.headers].flat());
      }
    }
    for (const path of ["/metrics", "/openapi.json"]) {
      texts.push(await (await fetch(server.url + path)).text());
    }
    texts.push(...server.logLines);
    assert.ok(server.logLines.some((line) => line.includes("invalid_api_key")));
    const repeated = texts.filter((text) => /sk-env|sk-file/.test(text));
    assert.deepEqual(repeated, []);
  });
});

test("metrics_need_key closes the metrics to whoever has none", async () => {
  const toml = `[server]\nmetrics_need_key = true\n${tinyConfig}`;
  const server = await startKeyedServer({ toml, env: { PREFILL_JUDGE_API_KEYS: envKey } });
  try {
    const refused = await fetch(`${server.url}/metrics`);
    assert.equal(refused.status, 401);
    assert.equal((await readError(refused)).code, "invalid_api_key");
    const headers = { authorization: `Bearer ${envKey}` };
    assert.match(await (await fetch(`${server.url}/metrics`, { headers })).text(), /^prefill_judge_/m);
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
  } finally {
    await server.close();
  }
});

test("a key with letters beyond ASCII matches as UTF-8 and, where it can be that, as Latin-1", async () => {
  const keys = ["clé-à-moi", "ключ"];
  const server = await startKeyedServer({
    toml: tinyConfig,
    env: { PREFILL_JUDGE_API_KEYS: keys.join(",") },
  });
  const status = async (header: string, key: string, encoding: "utf8" | "latin1") => {
    const client = rawClient(server.url);
    const lines = `GET /v1/models HTTP/1.1\r\nHost: localhost\r\n${header}${key}\r\n\r\n`;
    await client.write(Buffer.from(lines, encoding));
    const answer = await client.answer();
    client.close();
    return answer?.status;
  };
  try {
    for (const header of ["Authorization: Bearer ", "X-Api-Key: "]) {
      for (const key of keys) assert.equal(await status(header, key, "utf8"), 200, header + key);
      assert.equal(await status(header, keys[0]!, "latin1"), 200);
      assert.equal(await status(header, keys[1]!, "latin1"), 401);
      assert.equal(await status(header, "cle-a-moi", "utf8"), 401);
    }
  } finally {
    await server.close();
  }
});

describe("a file of keys", () => {
  const toml = `[server]\napi_keys_file = "keys.txt"\n${tinyConfig}`;
  const keysOf = (content: string) => configOf({ toml, files: { "keys.txt": content } }).server.keys;

  test("gives its lines and nothing else as keys", () => {
    assert.deepEqual(keysOf("a1\nb2\n"), ["a1", "b2"]);
    assert.deepEqual(keysOf("# two keys\na1\n\n  b2  \n#c3"), ["a1", "b2"]);
  });

  for (const [name, content] of [
    ["behind a key", "sk-1 # for alice\n"],
    ["indented", "sk-1\n  # for alice\n"],
    ["after a byte order mark", "\uFEFF# for alice\nsk-1\n"],
  ] as const) {
    test(`never gives a word of a comment as a key, or is refused: ${name}`, () => {
      try {
        const keys = keysOf(content);
        assert.ok(!keys.includes("alice") && !keys.includes("#"), keys.join(" "));
      } catch (error) {
        if (!(error instanceof JudgeError)) throw error;
        assert.ok(!error.message.includes("sk-1"));
      }
    });
  }

  for (const [name, content, finding] of [
    ["a zero-width space", "sk-1\u200b\n", "a character that cannot be seen"],
    ["a zero-width joiner", "sk\u200d-1\n", "a character that cannot be seen"],
    ["a control character", "sk-1\u0007\n", "a character that cannot be seen"],
    ["double quotes", '"sk-1"\n', "quotes"],
    ["single quotes", "'sk-1'\n", "quotes"],
    ["white space", "sk-1 sk-2\n", "white space"],
    ["bytes of another encoding", "sk-1\ufffd\n", "not UTF-8"],
  ] as const) {
    test(`is refused when a key of it holds what no client sends: ${name}`, () => {
      const isClear = (error: JudgeError) =>
        error.code === "config" && error.message.includes(finding) && !error.message.includes("sk");
      assert.throws(() => keysOf(content), isClear);
    });
  }

  for (const [name, content] of [
    ["is empty", ""],
    ["holds comments only", "# none\n\n"],
  ] as const) {
    test(`that ${name} does not open the server: the start is refused`, () => {
      assert.throws(() => keysOf(content), { code: "config" });
    });
  }

  test("and a variable that is empty does not open it either", () => {
    for (const value of ["", " , "]) {
      const env = { PREFILL_JUDGE_API_KEYS: value };
      assert.throws(() => configOf({ toml: tinyConfig, env }), { code: "config" });
    }
  });

  test("that is missing is refused, without a key in the message", () => {
    const env = { PREFILL_JUDGE_API_KEYS: envKey };
    assert.throws(
      () => configOf({ toml, env }),
      (error: JudgeError) => error.code === "config" && !error.message.includes(envKey),
    );
  });
});
