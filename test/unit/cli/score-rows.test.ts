// Where a progress bar is shown.
import assert from "node:assert/strict";
import { test } from "node:test";
import { progressBar } from "../../../src/cli/score-rows.js";
import { createTerminal, movesCursor, type Terminal } from "../../../src/cli/terminal.js";

test("a bar needs a terminal that can move its cursor: a dumb one shows every step as a line of codes", () => {
  assert.equal(movesCursor({ isTTY: true }, "xterm-256color"), true);
  assert.equal(movesCursor({ isTTY: true }, undefined), true);
  assert.equal(movesCursor({ isTTY: true }, "dumb"), false);
  assert.equal(movesCursor({}, "xterm"), false);
  const terminal = createTerminal(new URL("file:///"), "0", "dumb");
  assert.equal(terminal.errorMovesCursor, false);
  assert.equal(progressBar("scoring", 5, { ...terminal, errorIsTerminal: true } as Terminal), null);
});
