// Error codes on the wire: status, and the type in the words of each API.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ErrorCode, JudgeError } from "../../../src/errors.js";
import { envelopeOf } from "../../../src/http/apis/apis.js";
import { openAiEnvelope, statusOf } from "../../../src/http/errors.js";

describe("an error code has its status, and its type in OpenAI's and in Anthropic's words", () => {
  const forms: readonly (readonly [code: ErrorCode, status: number, openai: string, anthropic: string])[] = [
    ["invalid_json", 400, "invalid_request_error", "invalid_request_error"],
    ["invalid_request", 400, "invalid_request_error", "invalid_request_error"],
    ["invalid_api_key", 401, "invalid_request_error", "authentication_error"],
    ["not_found", 404, "invalid_request_error", "not_found_error"],
    ["model_not_found", 404, "invalid_request_error", "not_found_error"],
    ["method_not_allowed", 405, "invalid_request_error", "invalid_request_error"],
    ["request_timeout", 408, "invalid_request_error", "timeout_error"],
    ["body_too_large", 413, "invalid_request_error", "request_too_large"],
    ["unsupported_media_type", 415, "invalid_request_error", "invalid_request_error"],
    ["upgrade_required", 426, "invalid_request_error", "invalid_request_error"],
    ["overloaded", 429, "server_error", "rate_limit_error"],
    ["internal", 500, "server_error", "api_error"],
    ["encoder_down", 503, "server_error", "overloaded_error"],
    ["encoder_error", 503, "server_error", "overloaded_error"],
    ["deadline", 504, "server_error", "timeout_error"],
  ];
  for (const [code, status, openai, anthropic] of forms) {
    test(code, () => {
      const error = new JudgeError(code, { found: "found, wanted, to do", param: "n" });
      const found = statusOf(error);
      assert.equal(found, status);
      assert.deepEqual(openAiEnvelope.render(error, found, "r-1"), {
        error: { message: error.message, type: openai, param: "n", code },
      });
      assert.deepEqual(envelopeOf("/v1/messages").render(error, found, "r-1"), {
        type: "error",
        error: { type: anthropic, message: error.message },
        request_id: "r-1",
      });
    });
  }
});

test("an error of a connection has the status that it is refused with, in both envelopes", () => {
  for (const status of [417, 431, 503] as const) {
    const error = new JudgeError("invalid_request", { found: "found" });
    const type = status === 503 ? "server_error" : "invalid_request_error";
    const own = status === 503 ? "overloaded_error" : "invalid_request_error";
    assert.deepEqual(openAiEnvelope.render(error, status, "r-1"), {
      error: { message: "found", type, param: null, code: "invalid_request" },
    });
    assert.deepEqual(envelopeOf("/messages/x?y").render(error, status, "r-1"), {
      type: "error",
      error: { type: own, message: "found" },
      request_id: "r-1",
    });
  }
});
