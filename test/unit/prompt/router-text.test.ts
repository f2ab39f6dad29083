// What a router writes in the user's name is never judged, and what a user wrote is never taken for it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { judgedText } from "../../../src/prompt/judged-text.js";
import type { Message } from "../../../src/prompt/message.js";

const user = (...texts: string[]): Message => ({ role: "user", content: { texts, otherParts: 0 } });
const other = (role: string): Message => ({ role, content: { texts: [], otherParts: 0 } });
const image: Message = { role: "user", content: { texts: [], otherParts: 1 } };
const closing = "Route the conversation above. Output ONLY the routing JSON object, nothing else.";
const placeholder = "The delegated task in the following agent_message.";

const text = (which: "first" | "latest", ...messages: Message[]) => judgedText(messages, which).text;

describe("Switchyard's closing message", () => {
  test("is not the latest: the message before it is", () => {
    assert.equal(text("latest", user("task"), other("assistant"), user("next"), user(closing)), "next");
    assert.equal(text("latest", user("task"), other("assistant"), other("tool"), user(closing)), "task");
  });

  test("is not the first where no user message has a text", () => {
    for (const which of ["first", "latest"] as const) {
      assert.deepEqual(judgedText([image, user(closing)], which), { text: null, ignoredParts: 1 });
      assert.equal(text(which, other("assistant"), user(closing)), null);
    }
  });

  test("is known by its place: anywhere else the same words are the user's", () => {
    assert.equal(text("first", user(closing), user("next")), closing);
    assert.equal(text("latest", user("task"), user(closing), other("assistant")), closing);
    assert.equal(text("latest", user(closing), user(closing)), closing);
  });

  test("is known by its whole text: a user's message with more, less or other words stays", () => {
    const others = [`${closing} Why?`, `Explain: ${closing}`, closing.slice(0, -1), closing.toLowerCase()];
    for (const words of others) assert.equal(text("latest", user("task"), user(words)), words);
    assert.equal(text("latest", user("task"), user("See:", closing)), `See:\n${closing}`);
    const withImage = { role: "user", content: { texts: [closing], otherParts: 1 } };
    assert.equal(text("latest", user("task"), withImage), closing);
  });
});

describe("LiteLLM's placeholder", () => {
  test("before an encrypted task is no text", () => {
    assert.equal(text("first", user(placeholder), other("")), null);
    assert.equal(text("latest", user("task"), user(placeholder), other("")), "task");
  });

  test("without an item after it is the user's", () => {
    assert.equal(text("first", user(placeholder)), placeholder);
    assert.equal(text("first", user(placeholder), other("assistant")), placeholder);
  });
});
