// /v1/score, /v1/models, /health, /ready, and every error in OpenAI's envelope.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readCompletion, readError } from "../support/verdict.js";

describe("other routes", () => {
  let server: JudgeServer;
  before(async () => {
    server = await startJudgeServer();
  });
  after(() => server.close());

  test("score gives every prompt its probabilities, in order", async () => {
    const prompts = [
      "Hi",
      " ",
      "What is the capital of France?",
      ...Array.from({ length: 20 }, (_, n) => `task ${n}`),
    ];
    const response = await server.post("/v1/score", { model: "judge", prompts });
    assert.equal(response.status, 200);
    const { model, results, milliseconds } = (await response.json()) as {
      model: string;
      results: Record<string, unknown>[];
      milliseconds: number;
    };
    assert.equal(model, "tiny");
    assert.ok(milliseconds > 0);
    assert.equal(results.length, prompts.length);
    for (const [index, prompt] of prompts.entries()) {
      const { completion } = await readCompletion(await server.post("/v1/chat/completions", chat(prompt)));
      const { p_solve, probabilities, raw, tokens, truncated, cached, cache, abstained } =
        completion.prefill_judge;
      const difference = Math.abs(((results[index]!.p_solve as number) ?? 0) - ((p_solve as number) ?? 0));
      assert.ok(difference <= 1e-5, `prompt ${index} differs by ${difference}`);
      assert.deepEqual(
        Object.keys(results[index]!),
        Object.keys({ p_solve, probabilities, raw, tokens, truncated, cached, cache, abstained }),
      );
      assert.equal(results[index]!.abstained, abstained);
    }
    assert.equal(results[1]!.abstained, "no_user_text");
    assert.equal(results[1]!.p_solve, null);
  });

  test("score without model asks the first judge", async () => {
    const response = await server.post("/score", { prompts: ["Hi"] });
    assert.equal(((await response.json()) as { model: string }).model, "tiny");
  });

  test("models lists ids and aliases, and finds each", async () => {
    const list = (await (await fetch(`${server.url}/v1/models`)).json()) as {
      object: string;
      data: { id: string }[];
    };
    assert.equal(list.object, "list");
    assert.deepEqual(
      list.data.map((model) => model.id),
      ["tiny", "judge", "org/judge"],
    );
    for (const model of list.data) {
      for (const path of [`/v1/models/${model.id}`, `/models/${encodeURIComponent(model.id)}`]) {
        assert.deepEqual(await (await fetch(server.url + path)).json(), model);
      }
    }
    const error = await readError(await fetch(`${server.url}/v1/models/nobody`));
    assert.equal(error.code, "model_not_found");
  });

  test("health and ready are 200 once the selftest has passed", async () => {
    assert.deepEqual(await (await fetch(`${server.url}/health`)).json(), { status: "ok" });
    const ready = await fetch(`${server.url}/ready`);
    assert.equal(ready.status, 200);
    assert.deepEqual(await ready.json(), { ready: true, judges: { tiny: true }, reasons: {} });
  });

  for (const [name, path, body, code, param] of [
    ["not JSON", "/v1/chat/completions", '{"model": tiny}', "invalid_json", null],
    ["an empty body", "/v1/chat/completions", "", "invalid_json", null],
    ["an array", "/v1/chat/completions", [], "invalid_request", null],
    ["no messages", "/v1/chat/completions", { model: "tiny" }, "invalid_request", "messages"],
    ["an empty list of messages", "/v1/chat/completions", { messages: [] }, "invalid_request", "messages"],
    [
      "a message that is no object",
      "/v1/chat/completions",
      { messages: ["x"] },
      "invalid_request",
      "messages[0]",
    ],
    [
      "a message without role",
      "/v1/chat/completions",
      { messages: [{ content: "x" }] },
      "invalid_request",
      "messages[0].role",
    ],
    ["content of a wrong type", "/v1/chat/completions", chat(7), "invalid_request", "messages[0].content"],
    [
      "a part without type",
      "/v1/chat/completions",
      chat([{ text: "x" }]),
      "invalid_request",
      "messages[0].content[0].type",
    ],
    [
      "a text part without text",
      "/v1/chat/completions",
      chat([{ type: "text" }]),
      "invalid_request",
      "messages[0].content[0].text",
    ],
    ["model of a wrong type", "/v1/chat/completions", chat("x", { model: 1 }), "invalid_request", "model"],
    [
      "stream of a wrong type",
      "/v1/chat/completions",
      chat("x", { stream: "yes" }),
      "invalid_request",
      "stream",
    ],
    ["n out of range", "/v1/chat/completions", chat("x", { n: 9 }), "invalid_request", "n"],
    ["score without prompts", "/v1/score", { model: "tiny" }, "invalid_request", "prompts"],
    [
      "score with a prompt of a wrong type",
      "/v1/score",
      { prompts: ["a", 1] },
      "invalid_request",
      "prompts[1]",
    ],
    ["score with an unknown key", "/v1/score", { prompt: "a", prompts: ["a"] }, "invalid_request", null],
  ] as const) {
    test(`400 with what and where: ${name}`, async () => {
      const response = await server.post(path, body);
      const error = await readError(response);
      assert.equal(response.status, 400);
      assert.deepEqual([error.code, error.param], [code, param]);
      if (param !== null) assert.ok(error.message.startsWith(param), error.message);
    });
  }

  test("malformed JSON is located by line and column", async () => {
    const error = await readError(
      await server.post("/v1/chat/completions", '{\n  "model": "tiny",\n  "messages": oops\n}'),
    );
    assert.match(error.message, /line 3, column 15/);
  });

  test("a body that is not UTF-8 is refused", async () => {
    const body = Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    const response = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", body });
    assert.equal(response.status, 400);
    assert.match((await readError(response)).message, /UTF-8/);
  });

  test("404 and 405 come in the envelope", async () => {
    const missing = await fetch(`${server.url}/v2/none`);
    assert.equal(missing.status, 404);
    assert.deepEqual(await readError(missing), {
      message: "no such path; GET /openapi.json lists those there are",
      type: "invalid_request_error",
      param: null,
      code: "not_found",
    });
    for (const path of ["/v1/chat/completions/", "/v1//chat/completions", "/v1/v1/chat/completions"]) {
      const response = await server.post(path, chat("Hi"));
      assert.equal(response.status, 404);
      const { message } = await readError(response);
      assert.equal(
        message,
        "no such path; wanted /v1/chat/completions: mend the base URL, to which a client adds the rest",
      );
    }
    for (const [path, method, allow] of [
      ["/v1/chat/completions", "GET", "POST"],
      ["/v1/models", "POST", "GET, HEAD"],
      ["/health", "PUT", "GET, HEAD"],
    ] as const) {
      const response = await fetch(server.url + path, { method });
      assert.equal(response.status, 405);
      assert.equal(response.headers.get("allow"), allow);
      assert.equal((await readError(response)).code, "method_not_allowed");
    }
    assert.equal((await fetch(`${server.url}/health`, { method: "HEAD" })).status, 200);
  });

  test("32 MiB that Switchyard took are judged in its own request around them", async () => {
    const system = { role: "system", content: "You judge. ".repeat(1000) };
    const task = { role: "user", content: "a b ".repeat(8 * 2 ** 20) };
    const latest = { role: "user", content: "é".repeat(2 ** 20) };
    const body = chat("", { messages: [system, task, latest], max_completion_tokens: 4096 });
    const { completion } = await readCompletion(await server.post("/v1/chat/completions", body));
    assert.deepEqual([completion.prefill_judge.abstained, completion.prefill_judge.truncated], [null, true]);
  });

  test("a body over 48 MiB gets its 413 after the upload", async () => {
    const response = await server.post("/v1/chat/completions", chat("x".repeat(48 * 2 ** 20)));
    assert.equal(response.status, 413);
    assert.equal((await readError(response)).code, "body_too_large");
  });
});

test("default_judge answers unknown and missing model names", async () => {
  const server = await startJudgeServer(`default_judge = "judge"\n${tinyConfig}`);
  try {
    for (const model of ["gpt-4", undefined]) {
      const { completion } = await readCompletion(
        await server.post("/v1/chat/completions", chat("Hi", { model })),
      );
      assert.equal(completion.model, "tiny");
    }
  } finally {
    await server.close();
  }
});
