// JSON that is meant to hurt: an answer or a clean 4xx, and the server is there afterwards.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { ChatRequest } from "../../src/http/apis/chat.js";
import { ErrorAnswer } from "../../src/http/errors.js";
import { judgedText } from "../../src/prompt/judged-text.js";
import { chatDialect, readMessages } from "../../src/prompt/message-list.js";
import { chatPath } from "../support/http/raw-socket.js";
import { chat, type JudgeServer, startJudgeServer } from "../support/judge-server.js";
import { readCompletion, readError } from "../support/verdict.js";

const depth = 90_000;
const maxBodyBytes = 48 * 2 ** 20;
const user = '{"role":"user","content":"Hi"}';
const arrays = "[".repeat(depth) + "]".repeat(depth);
const objects = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

/** `before`, then as many of `element` as a body of the largest size holds, then `after`. */
function filled(before: string, element: string, after: string): string {
  const count = Math.floor((maxBodyBytes - before.length - after.length + 1) / (element.length + 1));
  return `${before}${`${element},`.repeat(count - 1)}${element}${after}`;
}

describe("hostile JSON", () => {
  let server: JudgeServer;
  before(async () => {
    server = await startJudgeServer();
  });
  after(() => server.close());
  afterEach(async () => {
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
  });

  for (const [name, body] of [
    ["arrays 90,000 deep beside the messages", `{"messages":[${user}],"x":${arrays}}`],
    ["objects 90,000 deep beside the messages", `{"messages":[${user}],"x":${objects}}`],
    ["a message with a field 90,000 deep", `{"messages":[{"role":"user","content":"Hi","x":${objects}}]}`],
    ["a message that is not read", `{"messages":[{"role":"system","content":${arrays}},${user}]}`],
    [
      "a part with a field 90,000 deep",
      `{"messages":[{"role":"user","content":[{"type":"text","text":"Hi","x":${arrays}}]}]}`,
    ],
    ["48 MiB of numbers beside the messages", filled(`{"messages":[${user}],"x":[`, "0", "]}")],
    ["48 MiB of keys given twice", filled(`{"messages":[${user}],`, '"a":1', "}")],
  ] as const) {
    test(`is judged as the text alone, or refused with 400: ${name}`, async () => {
      const response = await server.post(chatPath, body);
      if (response.status === 400) return void (await readError(response));
      const plain = await readCompletion(await server.post(chatPath, chat("Hi")));
      assert.deepEqual((await readCompletion(response)).verdict, plain.verdict);
    });
  }

  for (const [name, body] of [
    [
      "numbers beyond any",
      `{"messages":[${user}],"seed":${"9".repeat(100_000)},"top_p":1e400,"x":[-1e-400,-0]}`,
    ],
    [
      "keys given twice: the last counts",
      `{"model":"nobody","model":"tiny","n":99,"n":1,"messages":[],"messages":[${user}]}`,
    ],
    [
      "empty keys",
      `{"":{"":[]},"messages":[{"":"","role":"user","content":[{"type":"text","text":"Hi","":0}]}]}`,
    ],
    ["a byte order mark", `\uFEFF{"messages":[${user}]}`],
    [
      "names of Object's own",
      `{"constructor":1,"toString":2,"hasOwnProperty":3,"messages":[{"role":"user","content":"Hi","constructor":{},"valueOf":0}]}`,
    ],
  ] as const) {
    test(`is judged as the text alone: ${name}`, async () => {
      const plain = await readCompletion(await server.post(chatPath, chat("Hi")));
      const { completion, verdict } = await readCompletion(await server.post(chatPath, body));
      assert.deepEqual([verdict, completion.choices.length], [plain.verdict, 1]);
    });
  }

  test("cannot give a request what __proto__ holds, at any level", async () => {
    const options = '{"model":"nobody","n":3,"stream":true,"polluted":true}';
    const part = `{"type":"text","text":"Hi","__proto__":{"type":"image_url","text":1}}`;
    const message = `{"role":"user","content":[${part}],"__proto__":{"role":"system"}}`;
    const body = `{"__proto__":${options},"constructor":{"prototype":${options}},"messages":[${message}]}`;
    const { completion } = await readCompletion(await server.post(chatPath, body));
    assert.deepEqual([completion.choices.length, completion.prefill_judge.abstained], [1, null]);
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
    for (const [inherited, param] of [
      [`{"__proto__":{"messages":[${user}]}}`, "messages"],
      [`{"messages":[{"__proto__":${user}}]}`, "messages[0].role"],
      [
        `{"messages":[{"role":"user","content":[{"__proto__":{"type":"text","text":"a"}}]}]}`,
        "messages[0].content[0].type",
      ],
    ] as const) {
      const response = await server.post(chatPath, inherited);
      assert.equal(response.status, 400, inherited);
      assert.equal((await readError(response)).param, param);
    }
  });

  test("with lone surrogates or NUL in the text is judged", async () => {
    const replaced = await readCompletion(await server.post(chatPath, chat("a \uFFFD b")));
    for (const [body, same] of [
      [String.raw`{"messages":[{"role":"user","content":"a \ud800 b"}]}`, true],
      [String.raw`{"messages":[{"role":"user","content":"a \udfff b"}],"\ud800":"\udc00\ud800"}`, true],
      [String.raw`{"messages":[{"role":"user","content":"a \u0000 b"}]}`, false],
    ] as const) {
      const { completion, verdict } = await readCompletion(await server.post(chatPath, body));
      assert.equal(completion.prefill_judge.abstained, null);
      assert.equal(verdict.p_solve === replaced.verdict.p_solve, same, body);
    }
  });

  for (const [name, body, code] of [
    ["messages 90,000 deep", `{"messages":${arrays}}`, "invalid_request"],
    ["content 90,000 deep", `{"messages":[{"role":"user","content":${arrays}}]}`, "invalid_request"],
    ["a model 90,000 deep", `{"model":${objects},"messages":[${user}]}`, "invalid_request"],
    [
      "a text 90,000 deep",
      `{"messages":[{"role":"user","content":[{"type":"text","text":${arrays}}]}]}`,
      "invalid_request",
    ],
    ["nesting that never closes", '{"a":['.repeat(depth / 2), "invalid_json"],
    ["an n beyond any", `{"messages":[${user}],"n":${"9".repeat(400)}}`, "invalid_request"],
    ["a NUL outside of a string", `{"messages":[${user}]\0}`, "invalid_json"],
    ["a NUL in a string", '{"messages":[{"role":"user","content":"a\0b"}]}', "invalid_json"],
    ["half a surrogate escape", String.raw`{"messages":[{"role":"user","content":"\ud8"}]}`, "invalid_json"],
    ["48 MiB of messages that are numbers", filled('{"messages":[', "1", "]}"), null],
    ["48 MiB of messages that are objects", filled('{"messages":[', "{}", "]}"), null],
    ["48 MiB of parts", filled('{"messages":[{"role":"user","content":[', "1", "]}]}"), null],
    ["48 MiB of white space", " ".repeat(maxBodyBytes), "invalid_json"],
    ["48 MiB without an end", filled('{"messages":[', "1", ""), null],
  ] as const) {
    test(`is refused with 400: ${name}`, async () => {
      const response = await server.post(chatPath, body);
      assert.equal(response.status, 400);
      const { code: found } = await readError(response);
      assert.ok(code === null ? found.startsWith("invalid_") : found === code, found);
    });
  }

  test("with too many values is refused before it is parsed, however few bytes it has", async () => {
    const keys = Array.from({ length: 100_001 }, (_, n) => `"k${n}":0`);
    for (const body of [
      `{"messages":[${user}],${keys}}`,
      `{"messages":[{"role":"user","content":"Hi",${keys}}]}`,
      `{"messages":[${user}],"x":[${keys.map((key) => `{${key}}`)}]}`,
      `{"messages":[${user}],"x":${"[".repeat(100_001)}`,
    ]) {
      const response = await server.post(chatPath, body);
      assert.equal(response.status, 400);
      assert.equal(
        (await readError(response)).message,
        "the body has more than 100000 values, wanted at most that many",
      );
    }
  });

  test("of a conversation of thousands of tool calls is judged", async () => {
    const call = { id: "c", type: "function", function: { name: "ls", arguments: "{}" } };
    const step = [
      { role: "assistant", content: null, tool_calls: [call, call] },
      { role: "tool", tool_call_id: "c", content: [{ type: "text", text: "a.py" }] },
    ];
    const messages = [{ role: "user", content: "Hi" }, ...Array.from({ length: 2500 }, () => step).flat()];
    const { completion } = await readCompletion(await server.post(chatPath, { model: "tiny", messages }));
    assert.equal(completion.prefill_judge.abstained, null);
  });

  test("with tens of thousands of unknown keys gets a short answer that repeats none of them", async () => {
    const keys = Array.from({ length: 90_000 }, (_, n) => `"secret-${n}":0`);
    const response = await server.post("/v1/score", `{"prompts":["Hi"],${keys.join(",")}}`);
    assert.equal(response.status, 400);
    const text = await response.text();
    ErrorAnswer.parse(JSON.parse(text));
    assert.ok(text.length < 1000 && !text.includes("secret"), `${text.length} characters`);
  });
});

test("ten million wrong parts are refused in about the time it takes to parse them", () => {
  const content = `[${"1,".repeat(9998)}1]`;
  const messages = Array.from({ length: 1000 }, () => `{"role":"user","content":${content}}`);
  const started = performance.now();
  const body: unknown = JSON.parse(`{"messages":[${messages.join(",")}]}`);
  const parsed = performance.now();
  assert.throws(() => judgedText(readMessages(ChatRequest.parse(body).messages, chatDialect)), {
    code: "invalid_request",
  });
  const ratio = (performance.now() - parsed) / (parsed - started);
  assert.ok(ratio < 5, `checking took ${ratio.toFixed(0)} times as long as parsing`);
});
