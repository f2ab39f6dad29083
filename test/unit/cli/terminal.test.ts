// What is printed of files cannot command the terminal it is printed on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { escaped, printable } from "../../../src/cli/terminal.js";

const hostile = "a\u001b[2Jb\u009b31mc\u0007d\re\u007f";

test("control characters are written as escapes, lines and tabs stay", () => {
  assert.equal(escaped(`${hostile}\n\tf é 東`), "a\\u001b[2Jb\\u009b31mc\\u0007d\\u000de\\u007f\n\tf é 東");
});

test("JSON means what it did", () => {
  const content = { [hostile]: [hostile] };
  const text = escaped(JSON.stringify(content, null, 2));
  assert.doesNotMatch(text.replaceAll("\n", ""), /\p{Cc}/u);
  assert.deepEqual(JSON.parse(text), content);
});

test("a value keeps its one line", () => {
  assert.doesNotMatch(printable(`${hostile}\n`), /\p{Cc}/u);
});
