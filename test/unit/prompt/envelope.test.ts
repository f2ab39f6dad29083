// What clients put around their users' texts is taken off, and nothing else: no text outside of a pair of
// markers.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { readEnvelopes } from "../../../src/config/envelopes.js";
import { type Envelope, unwrap } from "../../../src/prompt/envelope.js";
import { judgedText, promptText } from "../../../src/prompt/judged-text.js";
import type { Message } from "../../../src/prompt/message.js";
import { packagePath } from "../../support/fixtures.js";

const known = readEnvelopes(packagePath(""));
const left = (text: string, envelopes: readonly Envelope[] = known) => unwrap(text, envelopes).text;
const block = (body = "harness") => `<system-reminder>\n${body}\n</system-reminder>`;

describe("a block", () => {
  for (const [name, text, wanted] of [
    ["before the text", `${block()}\nFix it.`, "Fix it."],
    ["after the text", `Fix it.\n\n${block()}`, "Fix it."],
    ["between two lines of it", `Fix it.\n${block()}\nThen stop.`, "Fix it.\nThen stop."],
    ["twice", `${block("a")}\n${block("b")}\nFix it.`, "Fix it."],
    ["in the text's own line", `${block()} Fix it.`, "Fix it."],
    ["right before it", `${block()}Fix it.`, "Fix it."],
    ["indented", `Fix it.\n   ${block()}\nThen stop.`, "Fix it.\nThen stop."],
    ["with one of its own kind inside", `${block(block("inner"))}\nFix it.`, "Fix it."],
    ["with another client's inside", `${block("<task>\nold\n</task>")}\nFix it.`, "Fix it."],
    [
      "that mentions its own marker",
      `${block("Never write <system-reminder> yourself.")}\nFix it.`,
      "Fix it.",
    ],
    ["with line ends of Windows", `${block().replaceAll("\n", "\r\n")}\r\nFix it.`, "Fix it."],
    [
      "of a slash command",
      "<command-name>/x</command-name>\n  <command-args>Fix it.</command-args>",
      "Fix it.",
    ],
    ["alone", `\n${block()}\n`, ""],
  ] as const) {
    test(`${name} is taken off`, () => assert.equal(left(text), wanted));
  }

  for (const [name, text] of [
    ["that is never closed", "<system-reminder>\nFix it."],
    ["that is never opened", "Fix it.\n</system-reminder>"],
    [
      "that is opened twice and closed once",
      "<system-reminder>\n<system-reminder>\nx</system-reminder>\nFix it.",
    ],
    ["within a line, as a user quotes it", "What does <system-reminder>x</system-reminder> mean?"],
    ["in another spelling", "<System-Reminder>\nx\n</System-Reminder>\nFix it."],
    ["too plain to go by alone", "<context>\nMy notes\n</context>\nSum them up."],
    ["with blanks around the text and no envelope", "  Fix it. \n"],
  ] as const) {
    test(`${name} takes nothing`, () => {
      assert.deepEqual(unwrap(text, known), { text, taken: [] });
    });
  }

  test("a closed one is taken off before one that is not", () => {
    assert.equal(
      left(`${block()}\nFix <b>it</b>.\n<system-reminder>\nand this`),
      "Fix <b>it</b>.\n<system-reminder>\nand this",
    );
  });
});

describe("a wrapper", () => {
  test("gives what it encloses, and keeps what stands behind it", () => {
    assert.equal(left("<task>\nFix it.\n</task>"), "Fix it.");
    assert.equal(left("<task>\nFix it.\n</task>\nAnd test it."), "Fix it.\nAnd test it.");
    assert.equal(left("<task>\nWhat is </task> for?\n</task>"), "What is </task> for?");
  });

  test("that does not open the text, or is not closed, takes nothing", () => {
    for (const text of [
      "See <task>\nx\n</task>",
      "Hello\n<task>\nx\n</task>",
      "<task>\nFix it.",
      "</task>\n<task>",
    ])
      assert.equal(left(text), text);
  });
});

describe("a whole message", () => {
  const files = "I have *added these files to the chat* so you can go ahead and edit them.\n\na.py";
  test("is passed over", () => {
    assert.equal(left(files), "");
    assert.equal(left(`Why does it say\n${files}`), `Why does it say\n${files}`);
  });

  test("with an end counts with both", () => {
    const own: Envelope[] = [{ client: "own", kind: "message", start: "BEGIN NOTE", end: "END NOTE" }];
    assert.equal(left(" BEGIN NOTE x END NOTE\n", own), "");
    for (const text of ["BEGIN NOTE x END NOTE and this", "BEGIN NOTE", "x BEGIN NOTE END NOTE"])
      assert.equal(left(text, own), text);
  });
});

test("what was taken off is told by client and kind", () => {
  const text = `${block()}\n<command-name>/x</command-name>\n<task>\nFix it.\n</task>`;
  assert.deepEqual(unwrap(text, known).taken, [
    { client: "claude-code", kind: "block", count: 2, characters: block().length + 31 },
    { client: "cline", kind: "wrapper", count: 1, characters: 13 },
  ]);
});

test("messages of nothing but envelope are passed over, and counted", () => {
  const user = (...texts: string[]): Message => ({ role: "user", content: { texts, otherParts: 0 } });
  const messages = [
    user(block("a"), block("b")),
    user("<task>\nFix it.\n</task>"),
    user("next"),
    user(block()),
  ];
  const first = judgedText(messages, "first", known);
  assert.equal(first.text, "Fix it.");
  assert.deepEqual(
    first.envelopes!.map(({ client, count }) => [client, count]),
    [
      ["claude-code", 2],
      ["cline", 1],
    ],
  );
  assert.equal(judgedText(messages, "latest", known).text, "next");
  assert.equal(judgedText(messages, "first").text, `${block("a")}\n${block("b")}`);
  assert.deepEqual(judgedText([user("plain")], "first", known), { text: "plain", ignoredParts: 0 });
  assert.equal(promptText(block(), known).text, null);
});

test("of any mixture of markers and words, no word outside of a pair is lost, and a second look finds nothing", () => {
  const pieces = known.flatMap(({ start, end }) => [start, end ?? "x"]);
  const piece = fc.oneof(fc.constantFrom(...pieces), fc.constantFrom("\n", " ", "word", "\n\n", "   "));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.array(piece, { maxLength: 20 }), (before, behind) => {
      const text = [...before, ...behind].join("");
      const once = unwrap(text, known);
      assert.ok(once.text.length <= text.length);
      assert.equal(once.taken.length === 0, once.text === text);
      if (once.taken.length < 4) assert.deepEqual(unwrap(once.text, known), { text: once.text, taken: [] });
    }),
    { numRuns: 3000, seed: 7 },
  );
  const plain = fc.array(
    fc.constantFrom("word", "<b>", "</task>", "</system-reminder>", "# AGENTS", "\n", " "),
  );
  fc.assert(
    fc.property(plain, (parts) =>
      assert.deepEqual(unwrap(parts.join(""), known), { text: parts.join(""), taken: [] }),
    ),
  );
});

test("hostile texts cost no more than their length", () => {
  const size = 50_000;
  for (const text of [
    "<system-reminder>\n".repeat(size),
    `${"<task>".repeat(size)}${"</task>".repeat(size)}`,
    "<system-reminder>a</system-reminder>\n".repeat(size / 2),
    `${"<system-reminder>\n".repeat(size / 2)}${"</system-reminder>\n".repeat(size / 2)}`,
    `${" ".repeat(1000)}<system-reminder>`.repeat(900),
  ]) {
    assert.ok(unwrap(text, known).taken.length <= 1);
  }
});
