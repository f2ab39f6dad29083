// POST /v1/chat/completions on a real server.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fixturePath, readJson } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readCompletion, readError, readVerdict } from "../support/verdict.js";

interface RecordedRequest {
  readonly case: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly first_user_text?: string | null;
}

describe("chat completions", () => {
  let server: JudgeServer;
  before(async () => {
    server = await startJudgeServer();
  });
  after(() => server.close());

  test("the answer is a whole completion whose content is the verdict alone", async () => {
    const response = await server.post("/v1/chat/completions", chat("What is the capital of France?"));
    assert.equal(response.headers.get("content-type"), "application/json");
    const { completion, verdict } = await readCompletion(response);
    const { checkpoint } = server.judges.registry.find("tiny").judge;
    assert.equal(verdict.primary_rule, "SUP-4");
    assert.match(completion.id, /^chatcmpl-/);
    assert.equal(completion.object, "chat.completion");
    assert.ok(Math.abs(completion.created - Date.now() / 1000) < 60);
    assert.equal(completion.model, "tiny");
    assert.equal(completion.system_fingerprint, checkpoint.hash);
    assert.deepEqual(completion.choices[0], {
      index: 0,
      message: { role: "assistant", content: completion.choices[0]!.message.content, refusal: null },
      logprobs: null,
      finish_reason: "stop",
    });
    assert.deepEqual(completion.usage, { prompt_tokens: 24, completion_tokens: 0, total_tokens: 24 });
  });

  test("headers and prefill_judge name what made the answer", async () => {
    const response = await server.post("/v1/chat/completions", chat("Hi"), { "x-request-id": "trace-1" });
    const { completion, verdict } = await readCompletion(response);
    const { milliseconds, probabilities, ...facts } = completion.prefill_judge;
    const { checkpoint } = server.judges.registry.find("tiny").judge;
    assert.equal(response.headers.get("x-request-id"), "trace-1");
    assert.equal(response.headers.get("x-prefill-judge-model"), "tiny");
    assert.equal(response.headers.get("x-prefill-judge-checkpoint"), checkpoint.hash);
    assert.equal(response.headers.get("x-prefill-judge-p-solve"), String(verdict.p_solve));
    assert.equal(response.headers.get("x-prefill-judge-abstained"), null);
    assert.deepEqual(Object.keys(probabilities as object), ["weak", "strong"]);
    assert.deepEqual(facts, {
      judge: "tiny",
      checkpoint: checkpoint.hash,
      encoder: "tiny",
      output: "weak",
      p_solve: verdict.p_solve,
      raw: probabilities,
      tokens: 19,
      truncated: false,
      ignored_parts: 0,
      cached: false,
      cache: "miss",
      abstained: null,
    });
    assert.deepEqual(Object.keys(milliseconds), ["queue", "tokenize", "prefill", "head", "total"]);
    assert.ok(Object.values(milliseconds).every((value) => value >= 0));
  });

  test("every capability request of Switchyard 0.3.0 gets a verdict on its opening user message", async () => {
    const { openai_chat: all } = readJson<{ openai_chat: RecordedRequest[] }>(
      fixturePath("switchyard/judge-requests.json"),
    );
    const recorded = all.filter(({ case: name }) => name.startsWith("capability/"));
    assert.ok(recorded.length >= 8);
    for (const { case: name, body, first_user_text: text } of recorded) {
      const response = await server.post("/v1/chat/completions", { ...body, model: "tiny" });
      const { verdict } = await readCompletion(response);
      if (typeof text !== "string") continue;
      const { verdict: wanted } = await readCompletion(await server.post("/v1/chat/completions", chat(text)));
      assert.equal(verdict.p_solve, wanted.p_solve, name);
    }
  });

  test("only the opening user message counts", async () => {
    const plain = await readCompletion(await server.post("/v1/chat/completions", chat("Solve: 1+1")));
    const messages = [
      { role: "system", content: "You judge." },
      { role: "developer", content: "Be strict." },
      { role: "assistant", content: null, tool_calls: [{ id: "1" }] },
      { role: "tool", tool_call_id: "1", content: "42" },
      { role: "user", content: "Solve: 1+1", name: "someone" },
      { role: "user", content: "Another task" },
    ];
    const full = await readCompletion(await server.post("/v1/chat/completions", { model: "tiny", messages }));
    assert.equal(full.verdict.p_solve, plain.verdict.p_solve);
  });

  test("text parts are joined by a line feed, other parts are counted", async () => {
    const joined = await readCompletion(await server.post("/v1/chat/completions", chat("one\ntwo")));
    const parts = [
      { type: "text", text: "one" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      { type: "text", text: "two" },
      { type: "input_audio", input_audio: { data: "", format: "wav" } },
    ];
    const { completion, verdict } = await readCompletion(
      await server.post("/v1/chat/completions", chat(parts)),
    );
    assert.equal(verdict.p_solve, joined.verdict.p_solve);
    assert.equal(completion.prefill_judge.ignored_parts, 2);
  });

  for (const [name, content] of [
    ["no content", null],
    ["blank", " \n\t "],
    ["zero-width only", "\u200b\u200d\ufeff\u2060"],
    ["an image only", [{ type: "image_url", image_url: { url: "x" } }]],
  ] as const) {
    test(`abstains with no_user_text: ${name}`, async () => {
      const response = await server.post("/v1/chat/completions", chat(content));
      const { completion, verdict } = await readCompletion(response);
      assert.equal(response.headers.get("x-prefill-judge-abstained"), "no_user_text");
      assert.equal(verdict.primary_rule, "none");
      assert.equal(verdict.p_solve, 0);
      assert.equal(completion.choices[0]!.finish_reason, "stop");
      assert.equal(completion.prefill_judge.abstained, "no_user_text");
      assert.equal(completion.prefill_judge.p_solve, null);
    });
  }

  test('with on_truncation = "abstain" a text that does not fit goes to the strong model, and says so', async () => {
    const whole = await startJudgeServer(`${tinyConfig}on_truncation = "abstain"\n`);
    try {
      const response = await whole.post("/v1/chat/completions", chat("word ".repeat(800)));
      assert.equal(response.headers.get("x-prefill-judge-abstained"), "truncated");
      const { completion, verdict } = await readCompletion(response);
      assert.deepEqual([verdict.primary_rule, verdict.p_solve], ["none", 0]);
      const { abstained, truncated, tokens, p_solve } = completion.prefill_judge;
      assert.deepEqual(
        { abstained, truncated, tokens, p_solve },
        { abstained: "truncated", truncated: true, tokens: 256, p_solve: null },
      );
      const blank = await whole.post(
        "/v1/chat/completions",
        chat(`${" \n".repeat(4000)}word${" \n".repeat(4000)}`),
      );
      assert.equal(blank.headers.get("x-prefill-judge-abstained"), "unreadable_text");
      const fits = await readCompletion(await whole.post("/v1/chat/completions", chat("word")));
      assert.equal(fits.completion.prefill_judge.abstained, null);
    } finally {
      await whole.close();
    }
  });

  test("a long text is cut in the middle to max_tokens and flagged", async () => {
    const text = `${"first ".repeat(400)}${"last ".repeat(400)}`;
    const { completion } = await readCompletion(await server.post("/v1/chat/completions", chat(text)));
    assert.equal(completion.prefill_judge.truncated, true);
    assert.equal(completion.prefill_judge.tokens, 256);
    const other = `${"first ".repeat(400)}middle ${"last ".repeat(400)}`;
    const same = await readCompletion(await server.post("/v1/chat/completions", chat(other)));
    assert.equal(same.completion.prefill_judge.p_solve, completion.prefill_judge.p_solve);
  });

  test("every response_format and unknown or known options are accepted", async () => {
    const formats = [
      { type: "text" },
      { type: "json_object" },
      { type: "json_schema", json_schema: { name: "Other", strict: true, schema: { type: "object" } } },
      "anything",
    ];
    for (const response_format of formats) {
      const options = {
        response_format,
        temperature: 0,
        seed: 1,
        max_completion_tokens: 1,
        max_tokens: 1,
        stop: ["{"],
      };
      const more = {
        tools: [],
        functions: [],
        logprobs: true,
        user: "u",
        reasoning_effort: "high",
        unknown: { a: 1 },
      };
      await readCompletion(await server.post("/v1/chat/completions", chat("Hi", { ...options, ...more })));
    }
  });

  test("aliases and the path without /v1 lead to the same judge", async () => {
    const { verdict } = await readCompletion(await server.post("/v1/chat/completions", chat("Hi")));
    for (const model of ["judge", "org/judge"]) {
      const response = await server.post("/chat/completions", chat("Hi", { model }));
      const { completion, verdict: same } = await readCompletion(response);
      assert.equal(same.p_solve, verdict.p_solve);
      assert.equal(completion.model, "tiny");
    }
  });

  test("n gives equal choices", async () => {
    const { completion } = await readCompletion(
      await server.post("/v1/chat/completions", chat("Hi", { n: 3 })),
    );
    assert.deepEqual(
      completion.choices.map((choice) => choice.index),
      [0, 1, 2],
    );
    const contents = new Set(completion.choices.map((choice) => choice.message.content));
    assert.equal(contents.size, 1);
  });

  test("an unknown model is 404 in the envelope and names no model back", async () => {
    const error = await readError(
      await server.post("/v1/chat/completions", chat("Hi", { model: "gpt-secret" })),
    );
    assert.equal(error.code, "model_not_found");
    assert.equal(error.param, "model");
    assert.ok(!error.message.includes("gpt-secret"));
  });

  for (const includeUsage of [false, true]) {
    test(`a stream has the exact chunk order${includeUsage ? ", usage last" : ""}`, async () => {
      const more = { stream: true, ...(includeUsage && { stream_options: { include_usage: true } }) };
      const response = await server.post("/v1/chat/completions", chat("Hi", more));
      assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
      const text = await response.text();
      assert.ok(text.endsWith("\n\n"));
      const events = text.trimEnd().split("\n\n");
      assert.ok(events.every((event) => event.startsWith("data: ")));
      assert.equal(events.pop(), "data: [DONE]");
      const chunks = events.map((event) => JSON.parse(event.slice("data: ".length)));
      assert.equal(chunks.length, includeUsage ? 4 : 3);
      assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
      assert.ok(chunks.every((chunk) => chunk.object === "chat.completion.chunk"));
      assert.deepEqual(chunks[0].choices[0].delta, { role: "assistant", content: "", refusal: null });
      readVerdict(chunks[1].choices[0].delta.content);
      assert.deepEqual(chunks[2].choices[0].delta, {});
      assert.deepEqual(
        chunks.map((chunk) => chunk.choices[0]?.finish_reason),
        [null, null, "stop", undefined].slice(0, chunks.length),
      );
      assert.equal(chunks[2].prefill_judge.judge, "tiny");
      if (includeUsage) {
        assert.deepEqual(chunks[3].choices, []);
        assert.deepEqual(chunks[3].usage, { prompt_tokens: 19, completion_tokens: 0, total_tokens: 19 });
        assert.ok(chunks.slice(0, 3).every((chunk) => chunk.usage === null));
      } else {
        assert.ok(chunks.every((chunk) => !("usage" in chunk)));
      }
    });
  }
});
