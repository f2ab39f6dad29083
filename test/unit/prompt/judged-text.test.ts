// Which text of a conversation is judged: on plain messages, and on the bodies that Switchyard 0.3.0 really
// sends.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { judgedText, readableText } from "../../../src/prompt/judged-text.js";
import type { Message } from "../../../src/prompt/message.js";
import { chatDialect, messageList, readMessages } from "../../../src/prompt/message-list.js";
import { fixturePath, readJson } from "../../support/fixtures.js";

const message = (role: string, texts: string[], otherParts = 0): Message => ({
  role,
  content: { texts, otherParts },
});

test("the first user message is judged, later ones are not", () => {
  const messages = [message("user", ["first"]), message("assistant", ["ok"]), message("user", ["second"])];
  assert.deepEqual(judgedText(messages), { text: "first", ignoredParts: 0 });
});

test("messages of other roles are not read", () => {
  const others = ["system", "developer", "assistant", "tool", "function", "User", "USER"];
  const messages = others.map((role) => message(role, [`from ${role}`], 1));
  assert.deepEqual(judgedText(messages), { text: null, ignoredParts: 0 });
  assert.equal(judgedText([...messages, message("user", ["task"])]).text, "task");
});

test("text parts are joined by line feeds, and the text is not trimmed", () => {
  assert.equal(judgedText([message("user", [" a ", "", "b\n"])]).text, " a \n\nb\n");
});

test("parts that are not text are counted for the judged message alone", () => {
  const messages = [message("user", [" "], 1), message("user", ["text"], 2), message("user", ["later"], 4)];
  assert.deepEqual(judgedText(messages), { text: "text", ignoredParts: 2 });
});

test("without any text the other parts of all user messages are counted", () => {
  const messages = [message("user", [], 1), message("assistant", [], 8), message("user", ["\n"], 2)];
  assert.deepEqual(judgedText(messages), { text: null, ignoredParts: 3 });
  assert.deepEqual(judgedText([]), { text: null, ignoredParts: 0 });
});

describe("a text without a visible character is no text", () => {
  const cases: Readonly<Record<string, string>> = {
    empty: "",
    "white space": " \t\r\n\u00A0\u3000\u2028",
    "zero-width space, joiners and marks": "\u200B\u200C\u200D\u2060\uFEFF\u200E\u202E",
    "soft hyphen and variation selectors": "\u00AD\uFE0F\u{E0100}\u{E0041}",
    "fillers that render as nothing": "\u115F\u1160\u3164\uFFA0\u2800",
    "control characters": "\u0000\u0007\u001B\u007F\u0085",
    "what was damaged before it came here": "\uFFFD\uD800",
  };
  for (const [name, text] of Object.entries(cases)) {
    test(name, () => {
      assert.equal(readableText(text), null);
      assert.equal(judgedText([message("user", [text]), message("user", ["next"])]).text, "next");
      assert.equal(readableText(`${text}.`), `${text}.`.toWellFormed());
    });
  }
});

test("one visible character is a text, in any script", () => {
  for (const text of ["a", "0", "?", "数", "🙂", "й", "\u0301"]) assert.equal(readableText(text), text);
});

test("lone surrogates become U+FFFD, pairs stay", () => {
  assert.equal(readableText("a\uD83Db"), "a\uFFFDb");
  assert.equal(readableText("\uDE42 🙂"), "\uFFFD 🙂");
});

test("whatever the text, what is judged is well-formed and of the same length", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const judged = readableText(`${text}x`)!;
      assert.ok(judged.isWellFormed());
      assert.equal(judged.length, text.length + 1);
    }),
  );
});

interface Recorded {
  readonly case: string;
  readonly body: { readonly messages: readonly { readonly role: string; readonly content: unknown }[] };
  readonly first_user_text: string | null;
}

describe("of the bodies that Switchyard 0.3.0 sends", () => {
  const { openai_chat: recorded } = readJson<{ openai_chat: Recorded[] }>(
    fixturePath("switchyard/judge-requests.json"),
  );
  const list = messageList(chatDialect);
  const judged = ({ messages }: { messages?: unknown }, which: "first" | "latest" = "first") =>
    judgedText(readMessages(list.parse(messages), chatDialect), which);

  for (const { case: name, body, first_user_text: wanted } of recorded) {
    if (wanted !== null) {
      test(`${name}: the user's first text is judged`, () => {
        const images = JSON.stringify(body).includes("image_url") ? 1 : 0;
        assert.deepEqual(judged(body), { text: wanted, ignoredParts: images });
      });

      test(`${name}: the latest text is a user's, never the router's`, () => {
        const latest = judged(body, "latest").text!;
        assert.equal(
          latest,
          body.messages.some(({ content }) => content === "part one\npart two")
            ? "part one\npart two"
            : wanted,
        );
      });
    } else {
      // mode escalation: the transcript comes folded into one user message, and the user's own text is not
      // told apart
      test(`${name}: the folded transcript is what is judged`, () => {
        assert.match(name, /^escalation\//);
        const { content } = body.messages.find(({ role }) => role === "user")!;
        assert.deepEqual(judged(body), { text: content, ignoredParts: 0 });
      });
    }
  }

  test("both kinds of bodies are among them", () => {
    assert.equal(recorded.filter(({ first_user_text }) => first_user_text !== null).length, 12);
    assert.equal(recorded.filter(({ first_user_text }) => first_user_text === null).length, 4);
  });
});
