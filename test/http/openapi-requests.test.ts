// The request schemas of /openapi.json against the checks of the server.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import type { ZodType } from "zod";
import { ChatRequest } from "../../src/http/apis/chat.js";
import { MessagesRequest } from "../../src/http/apis/messages.js";
import { ResponsesRequest, responsesDialect } from "../../src/http/apis/responses.js";
import { ScoreRequest } from "../../src/http/score-route.js";
import { chatDialect, readMessages, type WireMessage } from "../../src/prompt/message-list.js";
import { fixturePath, readJson } from "../support/fixtures.js";
import { type ApiDocument, readDocument } from "../support/http/openapi-document.js";
import { isValid } from "../support/http/openapi-json-schema.js";
import { type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";

/**
 * Whether the server takes a request whichever of its messages is judged; what it does not read may be
 * malformed.
 */
function isTaken(schema: ZodType, request: unknown): boolean {
  const { success, data } = schema.safeParse(request);
  if (!success || schema === ScoreRequest) return success;
  const dialect = schema === ResponsesRequest ? responsesDialect : chatDialect;
  const { messages, input } = data as { messages?: WireMessage[]; input?: WireMessage[] };
  return readMessages(messages ?? input!, dialect).every(({ content }) => content.fault === undefined);
}

describe("the API document", () => {
  let server: JudgeServer;
  let document: ApiDocument;
  before(async () => {
    server = await startJudgeServer(tinyConfig, {}, false);
    document = await readDocument(server.url);
  });
  after(() => server.close());
  const meets = (value: unknown, name: string) => isValid(value, document.components.schemas[name]!);

  test("has a schema of requests that takes every one Switchyard 0.3.0 sends", () => {
    const { openai_chat: recorded, other_formats: others } = readJson<{
      openai_chat: { case: string; body: object }[];
      other_formats: { client_format: string; body: object }[];
    }>(fixturePath("switchyard/judge-requests.json"));
    assert.ok(recorded.length >= 8 && others.length >= 4);
    for (const { case: name, body } of recorded) {
      assert.equal(meets(body, "ChatRequest"), true, name);
    }
    for (const { client_format: format, body } of others) {
      const name = format === "openai_responses" ? "ResponsesRequest" : "MessagesRequest";
      assert.equal(meets(body, name), true, format);
    }
  });

  test("has schemas of requests that take and refuse what the server takes and refuses", () => {
    const value = fc.oneof(
      fc.constantFrom(null, "", "text", 0, 1, 1.5, 8, 9, true, [], {}, ["a"], [1]),
      fc.constantFrom({ type: "text", text: "a" }, { type: "text" }, { type: "image_url" }, { text: "a" }),
      fc.array(
        fc.constantFrom({ type: "text", text: "a" }, { type: "text", text: 1 }, { type: "x" }, "a", {}),
        {
          maxLength: 3,
        },
      ),
    );
    /** Mostly of a valid form, so that many requests are taken. */
    const mostly = (...valid: readonly unknown[]) =>
      fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...valid) }, { weight: 1, arbitrary: value });
    const texts = ["a", null, [{ type: "text", text: "a" }], [{ type: "x" }, { type: "text", text: "b" }]];
    const message = fc.record(
      { role: mostly("user", "system", "tool"), content: mostly(...texts), name: value },
      { requiredKeys: ["role"] },
    );
    const messages = fc.array(fc.oneof({ weight: 9, arbitrary: message }, { weight: 1, arbitrary: value }), {
      maxLength: 3,
    });
    const chatBody = fc.record(
      {
        model: mostly("tiny", null),
        messages: fc.oneof({ weight: 9, arbitrary: messages }, { weight: 1, arbitrary: value }),
        stream: mostly(true, false, null),
        n: mostly(1, 8, null),
        stream_options: mostly({}, { include_usage: true }, { include_usage: null }, null),
      },
      { requiredKeys: ["messages"] },
    );
    const item = fc.record({
      role: mostly("user", "assistant", null),
      type: value,
      content: mostly("a", [{ type: "input_text", text: "a" }], [{ type: "input_image" }]),
    });
    const items = fc.array(fc.oneof({ weight: 9, arbitrary: item }, { weight: 1, arbitrary: value }), {
      maxLength: 3,
    });
    const responsesBody = fc.record(
      { model: mostly("tiny", null), input: fc.oneof(items, mostly("a", "")), stream: mostly(true, null) },
      { requiredKeys: ["input"] },
    );
    const scoreBody = fc.record(
      { model: mostly("tiny", null), prompts: mostly(["a"], ["a", "b"]), other: value },
      { requiredKeys: ["prompts"] },
    );
    const agreement = { ChatRequest: 0, ResponsesRequest: 0, MessagesRequest: 0, ScoreRequest: 0 };
    for (const [name, body, own] of [
      ["ChatRequest", chatBody, ChatRequest],
      ["ResponsesRequest", responsesBody, ResponsesRequest],
      ["MessagesRequest", chatBody, MessagesRequest],
      ["ScoreRequest", scoreBody, ScoreRequest],
    ] as const) {
      fc.assert(
        fc.property(body, (request) => {
          const taken = isTaken(own, request);
          assert.equal(meets(request, name), taken);
          if (taken) agreement[name]++;
        }),
        { numRuns: 2000, seed: 4 },
      );
      assert.ok(agreement[name] > 200 && agreement[name] < 1800, `${agreement[name]} requests were taken`);
    }
  });
});
