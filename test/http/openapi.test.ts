// /openapi.json: well-formed, complete, and true of real requests and answers.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apis, envelopeOf } from "../../src/http/apis/apis.js";
import { ChatCompletion } from "../../src/http/apis/chat.js";
import { MessagesAnswer, MessagesErrorAnswer, TokenCount } from "../../src/http/apis/messages.js";
import { ResponsesAnswer } from "../../src/http/apis/responses.js";
import { createApp } from "../../src/http/app.js";
import { ErrorAnswer } from "../../src/http/errors.js";
import { ScoreAnswer } from "../../src/http/score-route.js";
import type { Service } from "../../src/http/service.js";
import { Health, Model, ModelList, Readiness } from "../../src/http/status-routes.js";
import { apiRequests } from "../support/http/api-requests.js";
import { startKeyedServer } from "../support/http/keys-server.js";
import {
  type ApiDocument,
  operationsOf,
  readDocument,
  referencesIn,
} from "../support/http/openapi-document.js";
import { isValid } from "../support/http/openapi-json-schema.js";
import { chatPath } from "../support/http/raw-socket.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";

/** Every route of the app, but for the twins without /v1 and the admin's, which is off without its key. */
function routesOfApp(): string[] {
  const app = createApp({ corsOrigins: [], metricsNeedKey: false } as unknown as Service);
  const all = app.routes
    .filter(({ method, path }) => method !== "ALL" && !path.startsWith("/admin/"))
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)\{[^}]*\}/g, "{$1}")}`);
  return all.filter((route) => !all.includes(route.replace(" /", " /v1/")));
}

describe("the API document", () => {
  let server: JudgeServer;
  let document: ApiDocument;
  before(async () => {
    server = await startJudgeServer();
    document = await readDocument(server.url);
  });
  after(() => server.close());
  const meets = (value: unknown, name: string) => isValid(value, document.components.schemas[name]!);

  test("is OpenAPI 3.1 by structure: every reference resolves, ids are unique, parameters are declared", () => {
    assert.match(document.openapi, /^3\.1\.\d+$/);
    assert.ok(document.info.title !== "" && document.info.version !== "");
    for (const reference of referencesIn(document)) {
      const name = /^#\/components\/schemas\/(\w+)$/.exec(reference)?.[1];
      assert.ok(name !== undefined && name in document.components.schemas, reference);
    }
    const operations = operationsOf(document);
    const ids = [...operations.values()].map((operation) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
    for (const [name, operation] of operations) {
      assert.match(name, /^(GET|POST) \//);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
      const inPath = [...name.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      assert.deepEqual(
        declared.map((parameter) => [parameter.name, parameter.required]),
        inPath.map((parameter) => [parameter, true]),
      );
      assert.ok(Object.keys(operation.responses).length > 0);
      for (const [status, response] of Object.entries(operation.responses)) {
        assert.match(status, /^\d{3}$/);
        assert.ok(response.description !== "", `${name} ${status}`);
      }
      assert.equal(operation.requestBody?.required, name.startsWith("POST") ? true : undefined, name);
    }
  });

  test("uses every schema that it defines", () => {
    const used = new Set(referencesIn(document.paths).map((reference) => reference.split("/").at(-1)));
    assert.deepEqual(
      Object.keys(document.components.schemas).filter((name) => !used.has(name)),
      [],
    );
  });

  test("describes every route", () => {
    const operations = operationsOf(document);
    const routes = routesOfApp();
    assert.ok(routes.length >= 8);
    assert.deepEqual(
      routes.filter((route) => !operations.has(route)),
      [],
    );
  });

  test("describes no route that is not there, and each twin without /v1 answers alike", async () => {
    for (const name of operationsOf(document).keys()) {
      const [method, path] = name.replace("{id}", "tiny").split(" ") as [string, string];
      for (const twin of new Set([path, path.replace(/^\/v1/, "")])) {
        const response = await fetch(server.url + twin, { method });
        const text = await response.text();
        assert.ok(!/not_found|method_not_allowed/.test(text), `${method} ${twin}: ${text}`);
        assert.ok(
          String(response.status) in operationsOf(document).get(name)!.responses,
          `${name} ${response.status}`,
        );
      }
    }
  });

  test("tells every refusal of a path that needs an encoder, in the envelope of its API", () => {
    const paths = Object.entries(document.paths).filter(([, { post }]) => post !== undefined);
    assert.equal(paths.length, 5);
    for (const [path, { post }] of paths) {
      const statuses = Object.keys(post!.responses).map(Number);
      assert.deepEqual(
        statuses,
        [200, 400, 401, 403, 404, 405, 408, 413, 415, 417, 426, 429, 431, 500, 503, 504],
        path,
      );
      for (const status of statuses.filter((status) => status !== 200)) {
        const { name } = envelopeOf(path);
        assert.deepEqual(referencesIn(post!.responses[status]), [`#/components/schemas/${name}`]);
      }
    }
    for (const { name, errors } of apis)
      assert.equal(errors.name, name === "messages" ? "MessagesError" : "Error");
  });

  test("tells for every route what any request may be refused with", () => {
    for (const [name, { responses }] of operationsOf(document)) {
      const statuses = [400, 403, 405, 408, 417, 426, 431, 500, ...(name === "GET /health" ? [] : [503])];
      assert.deepEqual(
        statuses.filter((status) => !(status in responses)),
        [],
        name,
      );
    }
  });

  test("has an example of each API's request, which its schema takes", async () => {
    for (const { path, api } of apiRequests("")) {
      const { schema, example } = document.paths[path]!.post!.requestBody!.content["application/json"]! as {
        schema: object;
        example?: object;
      };
      assert.deepEqual(referencesIn(schema), [`#/components/schemas/${api.request.name}`]);
      assert.equal(meets(example, api.request.name), true);
      assert.equal((await server.post(path, example)).status, 200);
    }
  });

  test("tells the statuses and the media types of real answers", async () => {
    const { post } = document.paths["/v1/chat/completions"]!;
    for (const [body, headers, status, type] of [
      [chat("Hi"), {}, 200, "application/json"],
      [chat(" "), {}, 200, "application/json"],
      [chat("Hi", { stream: true }), {}, 200, "text/event-stream"],
      ["{", {}, 400, "application/json"],
      [chat("Hi", { model: "nobody" }), {}, 404, "application/json"],
      [chat("Hi"), { "content-encoding": "gzip" }, 415, "application/json"],
    ] as const) {
      const response = await server.post(chatPath, body, headers);
      assert.equal(response.status, status);
      assert.equal(response.headers.get("content-type")!.split(";")[0], type);
      assert.ok(type in post!.responses[status]!.content!, `${status} ${type}`);
      await response.arrayBuffer();
    }
  });

  test("tells the same of the paths of every API", async () => {
    for (const { path, api } of apiRequests("")) {
      const request = { ...api.example("Hi"), model: "tiny" };
      const { post } = document.paths[path]!;
      for (const [body, headers, status, type] of [
        [request, {}, 200, "application/json"],
        [{ ...request, stream: true }, {}, 200, "text/event-stream"],
        ["{", {}, 400, "application/json"],
        [{ ...request, model: "nobody" }, {}, 404, "application/json"],
        [request, { "content-encoding": "gzip" }, 415, "application/json"],
      ] as const) {
        const response = await server.post(path, body, headers);
        assert.equal(response.status, status, path);
        assert.equal(response.headers.get("content-type")!.split(";")[0], type);
        assert.ok(type in post!.responses[status]!.content!, `${status} ${type}`);
        await response.arrayBuffer();
      }
    }
  });

  test("has schemas that real answers meet, and so do the schemas it is made from", async () => {
    const completion = await (await server.post(chatPath, chat("Hi", { n: 3 }))).json();
    const abstained = await (await server.post(chatPath, chat(null))).json();
    const scored = await (await server.post("/v1/score", { prompts: ["Hi", " "] })).json();
    const posted = async (path: string, body: object) => (await server.post(path, body)).json();
    const get = async (path: string) => (await fetch(server.url + path)).json();
    for (const [name, source, answer] of [
      ["ChatCompletion", ChatCompletion, completion],
      ["ChatCompletion", ChatCompletion, abstained],
      ["ResponsesAnswer", ResponsesAnswer, await posted("/v1/responses", { input: "Hi" })],
      ["ResponsesAnswer", ResponsesAnswer, await posted("/v1/responses", { input: " " })],
      ["MessagesAnswer", MessagesAnswer, await posted("/v1/messages", chat("Hi"))],
      ["MessagesError", MessagesErrorAnswer, await posted("/v1/messages", {})],
      ["TokenCount", TokenCount, await posted("/v1/messages/count_tokens", chat("Hi"))],
      ["ScoreAnswer", ScoreAnswer, scored],
      ["ModelList", ModelList, await get("/v1/models")],
      ["Model", Model, await get("/v1/models/tiny")],
      ["Health", Health, await get("/health")],
      ["Readiness", Readiness, await get("/ready")],
      ["Error", ErrorAnswer, await get("/none")],
    ] as const) {
      assert.equal(meets(answer, name), true, name);
      assert.deepEqual(source.parse(answer), answer);
      assert.equal(meets({ ...(answer as object), other: 1 }, name), false, name);
      assert.equal(meets({}, name), false, name);
    }
  });
});

test("the API document of a server with keys says which routes ask for one", async () => {
  const env = { PREFILL_JUDGE_API_KEYS: "k" };
  for (const needKey of [false, true]) {
    const server = await startKeyedServer({
      toml: `[server]\nmetrics_need_key = ${needKey}\n${tinyConfig}`,
      env,
    });
    try {
      const document = await readDocument(server.url);
      assert.deepEqual(document.components.securitySchemes, {
        key: { type: "http", scheme: "bearer" },
        api_key: { type: "apiKey", in: "header", name: "x-api-key" },
      });
      for (const [name, { security, responses }] of operationsOf(document)) {
        const [method, path] = name.replace("{id}", "tiny").split(" ") as [string, string];
        const { status } = await fetch(server.url + path, { method });
        assert.equal(security !== undefined, status === 401, name);
        if (status === 401) assert.ok("401" in responses, name);
      }
    } finally {
      await server.close();
    }
  }
});
