// What a chat request must be: tolerant of every option, strict about the user's content.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ChatRequest } from "../../../../src/http/apis/chat.js";
import { invalidRequest } from "../../../../src/http/body/body.js";
import { judgedText } from "../../../../src/prompt/judged-text.js";
import { chatDialect, readMessages } from "../../../../src/prompt/message-list.js";
import { refusal } from "../../../support/refusal.js";

const toMessages = ({ messages }: ChatRequest) => readMessages(messages, chatDialect);
const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
const contentOf = (content: unknown) => toMessages(ChatRequest.parse(user(content)))[0]!.content;

test("a string and the same string as one text part are the same content", () => {
  assert.deepEqual(contentOf("a"), { texts: ["a"], otherParts: 0 });
  assert.deepEqual(contentOf([{ type: "text", text: "a" }]), contentOf("a"));
});

test("parts of other types are counted, whatever they hold", () => {
  const parts = [
    { type: "image_url", image_url: { url: "data:," } },
    { type: "text", text: "a", cache_control: {} },
    { type: "input_audio", text: 7 },
    { type: "text", text: "b" },
  ];
  assert.deepEqual(contentOf(parts), { texts: ["a", "b"], otherParts: 2 });
});

test("a user message without content is one without text", () => {
  for (const content of [null, undefined, []])
    assert.deepEqual(contentOf(content), { texts: [], otherParts: 0 });
});

test("content of other roles is neither read nor checked", () => {
  const messages = ["system", "developer", "assistant", "tool"].map((role) => ({
    role,
    content: { odd: 1 },
  }));
  for (const { content } of toMessages(ChatRequest.parse({ messages }))) {
    assert.deepEqual(content, { texts: [], otherParts: 0 });
  }
});

test("known and unknown options are accepted", () => {
  const options = {
    model: null,
    temperature: 0,
    max_completion_tokens: 4096,
    response_format: { type: "json_object" },
    tools: [],
    logprobs: true,
    stream: null,
    stream_options: null,
    n: null,
    made_up: { x: 1 },
  };
  assert.ok(ChatRequest.safeParse({ ...user("a"), ...options }).success);
});

test("one to eight choices are accepted", () => {
  for (const n of [1, 2, 8]) assert.ok(ChatRequest.safeParse({ ...user("a"), n }).success, `n ${n}`);
});

test("text parts of every API are read", () => {
  const parts = ["text", "input_text", "output_text"].map((type) => ({ type, text: type }));
  assert.deepEqual(contentOf(parts), { texts: ["text", "input_text", "output_text"], otherParts: 0 });
});

test("a malformed part is an error where its message is judged, and nowhere else", () => {
  const broken = { role: "user", content: [{ type: "text" }] };
  const fine = { role: "user", content: "task" };
  const read = (messages: object[], which: "first" | "latest") =>
    judgedText(toMessages(ChatRequest.parse({ messages })), which).text;
  assert.equal(read([fine, broken], "first"), "task");
  assert.equal(read([broken, fine], "latest"), "task");
  assert.equal(
    refusal("invalid_request", () => read([broken, fine], "first")).param,
    "messages[0].content[0].text",
  );
  assert.equal(
    refusal("invalid_request", () => read([fine, broken], "latest")).param,
    "messages[1].content[0].text",
  );
  // an image alone is passed over, so that the next message is read
  const image = { role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] };
  assert.equal(
    refusal("invalid_request", () => read([image, broken], "first")).param,
    "messages[1].content[0].text",
  );
});

describe("a malformed request is refused with its place", () => {
  const cases: readonly (readonly [name: string, body: unknown, param: string | null])[] = [
    ["not an object", [], null],
    ["no messages", {}, "messages"],
    ["messages are not a list", { messages: "hi" }, "messages"],
    ["an empty list of messages", { messages: [] }, "messages"],
    ["a message that is a string", { messages: ["hi"] }, "messages[0]"],
    ["a message without a role", { messages: [{ content: "x" }] }, "messages[0].role"],
    ["content that is a number", user(1), "messages[0].content"],
    ["content that is an object", user({ text: "x" }), "messages[0].content"],
    ["a part that is a string", user(["x"]), "messages[0].content[0]"],
    ["a part without a type", user([{ text: "x" }]), "messages[0].content[0].type"],
    ["a text part without text", user([{ type: "text" }]), "messages[0].content[0].text"],
    [
      "a second text part with a number",
      user([
        { type: "text", text: "x" },
        { type: "text", text: 1 },
      ]),
      "messages[0].content[1].text",
    ],
    ["a model that is a number", { ...user("x"), model: 1 }, "model"],
    ["stream as text", { ...user("x"), stream: "true" }, "stream"],
    ["zero choices", { ...user("x"), n: 0 }, "n"],
    ["half a choice", { ...user("x"), n: 1.5 }, "n"],
    [
      "include_usage as text",
      { ...user("x"), stream_options: { include_usage: "yes" } },
      "stream_options.include_usage",
    ],
  ];
  for (const [name, body, param] of cases) {
    test(name, () => {
      const { error, data } = ChatRequest.safeParse(body);
      const refused =
        error === undefined
          ? refusal("invalid_request", () => judgedText(toMessages(data)))
          : invalidRequest(error);
      assert.equal(refused.code, "invalid_request");
      assert.equal(refused.param, param);
      assert.ok(refused.message.startsWith(`${param ?? "the body"}: `), refused.message);
    });
  }
});
