// Paths that are nearly right.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { rightPath } from "../../../src/http/right-path.js";

const known = ["/v1/chat/completions", "/chat/completions", "/v1/messages", "/messages", "/health"];

describe("the path that was meant", () => {
  for (const [path, wanted] of [
    ["/v1/chat/completions/", "/v1/chat/completions"],
    ["/v1//chat/completions", "/v1/chat/completions"],
    ["//v1///chat/completions//", "/v1/chat/completions"],
    ["/chat/completions/", "/chat/completions"],
    ["/health/", "/health"],
    ["/v1/v1/messages", "/v1/messages"],
    ["/openai/v1/chat/completions", "/v1/chat/completions"],
    ["/v1/chat/completions/chat/completions", "/v1/chat/completions"],
    ["/", null],
    ["", null],
    ["///", null],
    ["/v1", null],
    ["/v1/completions", null],
    ["/v1/messages/batches", null],
    ["/v1/threads/t/messages", null],
    ["/probes/health", null],
    ["/".repeat(16_000), null],
  ] as const) {
    test(`${path.slice(0, 40)}: ${wanted}`, () => {
      assert.equal(rightPath(path, known), wanted);
    });
  }
});
