// Vercel's AI SDK with its provider for Anthropic's API, which checks every key of an answer.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { APICallError, generateText, jsonSchema, Output, streamText } from "ai";
import { decision, prompt, rightKey } from "../support/clients/answered-requests.js";
import { type Seats, startSeats } from "../support/clients/seats.js";
import { readVerdict } from "../support/verdict.js";

describe("AI SDK (@ai-sdk/anthropic)", () => {
  let seats: Seats;
  before(async () => {
    seats = await startSeats();
  });
  after(() => seats?.close());
  const settings = (model = "tiny", { url, key }: { url?: string; key?: string } = {}) => ({
    model: createAnthropic({ baseURL: url ?? `${seats.open.url}/v1`, apiKey: key ?? "sk-any" })(model),
    prompt,
    maxOutputTokens: 64,
    maxRetries: 0,
  });

  test("a message has the verdict as its text, and the usage", async () => {
    const { text, usage, finishReason } = await generateText(settings());
    assert.equal(readVerdict(text).p_solve, seats.pSolve);
    assert.deepEqual([usage.inputTokens, usage.outputTokens, finishReason], [seats.tokens, 0, "stop"]);
  });

  test("a base URL may end with a slash", async () => {
    const { text } = await generateText(settings("tiny", { url: `${seats.open.url}/v1/` }));
    assert.equal(readVerdict(text).p_solve, seats.pSolve);
  });

  test("text beside an image is judged, the system prompt is not", async () => {
    const [first, second] = prompt.split("\n") as [string, string];
    const { prompt: _, ...others } = settings("org/judge");
    const { text } = await generateText({
      ...others,
      system: "Judge.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: first },
            { type: "image", image: "iVBORw0KGgo=", mediaType: "image/png" },
            { type: "text", text: second },
          ],
        },
      ],
    });
    assert.equal(readVerdict(text).p_solve, seats.pSolve);
  });

  test("a stream assembles to the verdict, with the usage", async () => {
    let failure: unknown;
    const onError = ({ error }: { error: unknown }) => {
      failure = error;
    };
    const result = streamText({ ...settings(), onError });
    let text = "";
    for await (const piece of result.textStream) text += piece;
    assert.equal(failure, undefined);
    assert.equal(readVerdict(text).p_solve, seats.pSolve);
    const { inputTokens, outputTokens } = await result.usage;
    assert.deepEqual([inputTokens, outputTokens, await result.finishReason], [seats.tokens, 0, "stop"]);
  });

  test("structured output is parsed", async () => {
    const output = Output.object({ schema: jsonSchema(decision.schema), name: decision.name });
    const result = await generateText({ ...settings("tiny", { key: rightKey }), output });
    assert.equal(readVerdict(JSON.stringify(result.output)).p_solve, seats.pSolve);
  });

  test("errors carry Anthropic's type", async () => {
    for (const [given, status, type] of [
      [settings("nobody"), 404, "not_found_error"],
      [settings("tiny", { url: `${seats.keyed.url}/v1`, key: "sk-wrong" }), 401, "authentication_error"],
      [settings("tiny", { url: `${seats.open.url}/v1/v1` }), 404, "not_found_error"],
    ] as const) {
      await assert.rejects(generateText(given), (error) => {
        assert.ok(APICallError.isInstance(error));
        assert.equal(error.statusCode, status);
        assert.equal((error.data as { error: { type: string } }).error.type, type);
        return true;
      });
    }
  });
});
