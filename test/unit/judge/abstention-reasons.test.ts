import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, JudgeError } from "../../../src/errors.js";
import { abstainReasonOf, abstainReasons, isFailure } from "../../../src/judge/abstention-reasons.js";

test("an error that is a reason to abstain is that reason, every other is internal", () => {
  const reasons: Partial<Record<ErrorCode, string>> = {
    deadline: "deadline",
    overloaded: "overloaded",
    encoder_down: "encoder_down",
    encoder_error: "encoder_error",
  };
  const codes: ErrorCode[] = [
    "deadline",
    "overloaded",
    "encoder_down",
    "encoder_error",
    "internal",
    "checkpoint",
    "config",
  ];
  for (const code of codes) {
    assert.equal(abstainReasonOf(new JudgeError(code, { found: "x" })), reasons[code] ?? "internal");
  }
});

test("a failure is a reason that an error stands for; the others are in the request or the configuration", () => {
  assert.equal(new Set(abstainReasons).size, 12);
  assert.deepEqual(
    abstainReasons.filter((reason) => !isFailure(reason)),
    [
      "no_user_text",
      "no_opening_text",
      "unreadable_text",
      "truncated",
      "running_transcript",
      "no_custom_table",
      "schema_not_met",
    ],
  );
});
