// /v1/responses and /v1/messages: the verdict that a chat completion has, in each API's own shape, streams
// and errors too.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fixturePath, readJson } from "../support/fixtures.js";
import { apiRequests } from "../support/http/api-requests.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readCompletion, readError, readVerdict } from "../support/verdict.js";

let server: JudgeServer;
before(async () => {
  server = await startJudgeServer();
});
after(() => server.close());

interface Event {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** The events of a stream, each named by its data's type. */
function readEvents(text: string): Event[] {
  assert.ok(text.endsWith("\n\n"));
  return text
    .slice(0, -2)
    .split("\n\n")
    .map((block) => {
      const [, name, data] = /^event: (\S+)\ndata: ([^\n]+)$/.exec(block)!;
      const event = JSON.parse(data!) as Event;
      assert.equal(event.type, name);
      return event;
    });
}

/** What a chat completion says of that text. */
async function wantedFor(text: string) {
  const { completion, verdict } = await readCompletion(await server.post("/v1/chat/completions", chat(text)));
  return { pSolve: verdict.p_solve, tokens: completion.usage.prompt_tokens! };
}

describe("responses", () => {
  interface Answer {
    readonly output: readonly { readonly content: readonly { readonly text: string }[] }[];
    readonly usage: Readonly<Record<string, unknown>>;
    readonly prefill_judge: Readonly<Record<string, unknown>>;
  }
  const textOf = ({ output }: Answer) => output[0]!.content[0]!.text;
  const ask = async (body: object, path = "/v1/responses") => {
    const response = await server.post(path, { model: "tiny", ...body });
    assert.equal(response.status, 200);
    return (await response.json()) as Answer;
  };

  test("every form of the input is the same text", async () => {
    const { pSolve, tokens } = await wantedFor("Prove\nit.");
    for (const input of [
      "Prove\nit.",
      [{ role: "user", content: "Prove\nit." }],
      [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Be strict." }] },
        { type: "reasoning", id: "rs_1", summary: [] },
        { type: "function_call_output", call_id: "c", output: "42" },
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "Prove" },
            { type: "input_image", image_url: "data:," },
            { type: "input_text", text: "it." },
          ],
        },
        { role: "assistant", content: [{ type: "output_text", text: "Done." }] },
        { role: "user", content: "Another task" },
      ],
    ]) {
      for (const path of ["/v1/responses", "/responses"]) {
        const answer = await ask({ input, instructions: "Judge." }, path);
        assert.equal(readVerdict(textOf(answer)).p_solve, pSolve);
        assert.equal(answer.usage.input_tokens, tokens);
      }
    }
  });

  test("a stream tells the text in pieces that make the response of the last event", async () => {
    const response = await server.post("/v1/responses", { input: "Hi", stream: true });
    assert.match(response.headers.get("content-type")!, /^text\/event-stream/);
    assert.ok(response.headers.get("x-prefill-judge-p-solve"));
    const events = readEvents(await response.text());
    assert.deepEqual(
      events.map(({ type }) => type.replace("response.", "")),
      [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
      ],
    );
    assert.deepEqual(
      events.map((event) => event.sequence_number),
      [...events.keys()],
    );
    const last = events.at(-1)!.response as Answer;
    assert.equal(events[4]!.delta, textOf(last));
    assert.equal(readVerdict(textOf(last)).p_solve, (await wantedFor("Hi")).pSolve);
  });

  test("a malformed request is named by its place", async () => {
    for (const [body, message] of [
      [{}, /^input: wanted a string or an array of items$/],
      [{ input: 3 }, /^input: wanted a string or an array of items$/],
      [{ input: [] }, /^input: wanted at least one message$/],
      [
        { input: [{ role: "user", content: 3 }] },
        /^input\[0\]\.content: wanted a string or an array of parts$/,
      ],
      [
        { input: [{ role: "user", content: [{ type: "input_text" }] }] },
        /^input\[0\]\.content\[0\]\.text: wanted a string in a part of type input_text$/,
      ],
      [{ input: "x", stream: 1 }, /^stream: /],
    ] as const) {
      const response = await server.post("/v1/responses", body);
      assert.equal(response.status, 400);
      assert.match((await readError(response)).message, message);
    }
  });
});

describe("messages", () => {
  interface Answer {
    readonly content: readonly { readonly text: string }[];
    readonly usage: Readonly<Record<string, number>>;
  }
  const textOf = ({ content }: Answer) => content[0]!.text;

  test("every form of the content is the same text", async () => {
    const { pSolve, tokens } = await wantedFor("Prove\nit.");
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "" } };
    for (const content of [
      "Prove\nit.",
      [{ type: "text", text: "Prove\nit." }],
      [
        { type: "text", text: "Prove" },
        image,
        { type: "text", text: "it.", cache_control: { type: "ephemeral" } },
      ],
    ]) {
      const messages = [
        { role: "user", content },
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "ls", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "a.py" }] },
      ];
      for (const path of ["/v1/messages", "/messages", "/v1/messages?beta=true"]) {
        const response = await server.post(path, {
          model: "tiny",
          max_tokens: 9,
          system: "Judge.",
          messages,
        });
        assert.equal(response.headers.get("request-id"), response.headers.get("x-request-id"));
        const answer = (await response.json()) as Answer;
        assert.equal(readVerdict(textOf(answer)).p_solve, pSolve);
        assert.equal(answer.usage.input_tokens, tokens);
      }
    }
  });

  test("a stream tells the text in pieces", async () => {
    const response = await server.post("/v1/messages", chat("Hi", { stream: true }));
    assert.match(response.headers.get("content-type")!, /^text\/event-stream/);
    const events = readEvents(await response.text());
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
      ],
    );
    const { text } = events[2]!.delta as { text: string };
    assert.equal(readVerdict(text).p_solve, (await wantedFor("Hi")).pSolve);
  });

  test("errors come in Anthropic's envelope, with the request's id", async () => {
    for (const [body, headers, status, type] of [
      ["{", {}, 400, "invalid_request_error"],
      [{}, {}, 400, "invalid_request_error"],
      [chat("Hi", { model: "nobody" }), {}, 404, "not_found_error"],
      [chat("Hi"), { "content-encoding": "gzip" }, 415, "invalid_request_error"],
    ] as const) {
      const response = await server.post("/v1/messages", body, { "x-request-id": "r-1", ...headers });
      assert.equal(response.status, status);
      const { error, ...rest } = (await response.json()) as { error: { type: string; message: string } };
      assert.deepEqual(rest, { type: "error", request_id: "r-1" });
      assert.deepEqual(Object.keys(error), ["type", "message"]);
      assert.equal(error.type, type);
      assert.equal(response.headers.get("request-id"), "r-1");
    }
    const other = await fetch(`${server.url}/v1/messages`);
    assert.equal(other.status, 405);
    assert.equal(((await other.json()) as { type: string }).type, "error");
  });

  test("paths below it that are not there answer in its envelope too, and other APIs' do not", async () => {
    for (const path of ["/v1/messages/batches", "/messages/x/y", "/v1/v1/messages", "/v1/messages/"]) {
      const response = await server.post(path, {});
      assert.equal(response.status, 404);
      const body = (await response.json()) as { error: { type: string }; request_id: string };
      assert.equal(body.error.type, "not_found_error", path);
      assert.equal(body.request_id, response.headers.get("request-id"), path);
    }
    for (const path of ["/v1/threads/t/messages", "/v1/messages-of-another-api"]) {
      const response = await server.post(path, {});
      assert.equal((await readError(response)).code, "not_found", path);
      assert.equal(response.headers.get("request-id"), null);
    }
  });

  test("count_tokens says what a message says as its input_tokens", async () => {
    for (const content of ["Hi", "Prove\nit.", "é ".repeat(500), [{ type: "text", text: "a" }], " ", null]) {
      const wanted = (await (await server.post("/v1/messages", chat(content))).json()) as Answer;
      for (const path of ["/v1/messages/count_tokens?beta=true", "/messages/count_tokens"]) {
        const response = await server.post(path, chat(content, { tools: [], system: "Judge." }));
        assert.equal(response.status, 200);
        assert.equal(response.headers.get("request-id"), response.headers.get("x-request-id"));
        assert.deepEqual(await response.json(), { input_tokens: wanted.usage.input_tokens });
      }
    }
    const unknown = await server.post("/v1/messages/count_tokens", chat("Hi", { model: "nobody" }));
    assert.equal(unknown.status, 404);
    assert.equal(((await unknown.json()) as { type: string }).type, "error");
  });
});

test("every request of other formats that Switchyard 0.3.0 sends gets a verdict on its opening user message", async () => {
  const { other_formats: recorded } = readJson<{
    other_formats: { path: string; body: { input?: object[]; messages?: object[] } }[];
  }>(fixturePath("switchyard/judge-requests.json"));
  assert.ok(recorded.length >= 4);
  for (const { path, body } of recorded) {
    const response = await server.post(path, { ...body, model: "tiny" });
    const text = JSON.stringify((body.input ?? body.messages)![0]).includes("first task")
      ? "first task"
      : "describe";
    assert.equal(
      response.headers.get("x-prefill-judge-p-solve"),
      String((await wantedFor(text)).pSolve),
      path,
    );
    await response.arrayBuffer();
  }
});

test("what is at an API's path or below it is refused in that API's envelope, whatever is wrong", async () => {
  const small = await startJudgeServer(`[server]\nmax_body_bytes = 1024\n${tinyConfig}`, {}, false);
  try {
    for (const { api, path, body } of apiRequests("Hi", { metadata: "x".repeat(2000) })) {
      const taken = [path, ...api.below.map((sub) => path + sub.path)];
      for (const [method, paths, status] of [
        ["POST", [`${path}/`, `${path}/nonsense`, `${path}/a/b`], 404],
        ["GET", taken, 405],
        ["POST", taken, 413],
      ] as const) {
        for (const place of paths) {
          const response = await fetch(small.url + place, { method, ...(method === "POST" && { body }) });
          assert.equal(response.status, status, `${method} ${place}`);
          assert.ok(api.errors.schema.safeParse(await response.json()).success, `${method} ${place}`);
        }
      }
    }
  } finally {
    await small.close();
  }
});

test("each path has its own name in the metrics", async () => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  for (const route of ["chat", "responses", "messages"])
    assert.match(text, new RegExp(`requests_total\\{route="${route}",outcome="judged",status="200"\\} \\d`));
});
