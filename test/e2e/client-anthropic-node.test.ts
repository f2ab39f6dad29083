// The @anthropic-ai/sdk package of Node.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema";
import { decision, prompt, rightKey } from "../support/clients/answered-requests.js";
import { type Seats, startSeats } from "../support/clients/seats.js";
import { readVerdict } from "../support/verdict.js";

const textOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");

describe("@anthropic-ai/sdk (Node)", () => {
  let seats: Seats;
  let client: Anthropic;
  const connect = (baseURL: string, auth: { apiKey?: string | null; authToken?: string | null }) =>
    new Anthropic({ baseURL, apiKey: null, authToken: null, maxRetries: 0, ...auth });
  before(async () => {
    seats = await startSeats();
    client = connect(seats.open.url, { apiKey: "sk-any" });
  });
  after(() => seats?.close());
  const body = {
    model: "tiny",
    max_tokens: 64,
    messages: [{ role: "user", content: prompt }],
  } satisfies Anthropic.MessageCreateParamsNonStreaming;

  test("a message has the verdict as its text, and the usage", async () => {
    const message = await client.messages.create(body);
    assert.equal(readVerdict(textOf(message)).p_solve, seats.pSolve);
    assert.deepEqual([message.role, message.stop_reason], ["assistant", "end_turn"]);
    assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [seats.tokens, 0]);
    assert.match(message._request_id ?? "", /^[\w-]+$/);
  });

  test("tokens are counted as the usage of a message has them", async () => {
    const { model, messages } = body;
    assert.deepEqual(await client.messages.countTokens({ model, messages }), { input_tokens: seats.tokens });
    const beta = await client.beta.messages.countTokens({ model, messages, system: "Judge.", tools: [] });
    assert.equal(beta.input_tokens, seats.tokens);
  });

  test("text beside an image is judged, whatever else the request asks for", async () => {
    const [first, second] = prompt.split("\n") as [string, string];
    const message = await client.messages.create({
      ...body,
      model: "org/judge",
      system: [{ type: "text", text: "Judge.", cache_control: { type: "ephemeral" } }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: first },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
            { type: "text", text: second },
          ],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "ls", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "a.py" }] },
      ],
      tools: [{ name: "ls", input_schema: { type: "object" } }],
      thinking: { type: "enabled", budget_tokens: 1024 },
      metadata: { user_id: "u" },
    });
    assert.equal(readVerdict(textOf(message)).p_solve, seats.pSolve);
  });

  test("structured output is parsed", async () => {
    const format = jsonSchemaOutputFormat(decision.schema as never);
    const message = await client.messages.parse({ ...body, output_config: { format } });
    assert.equal(readVerdict(JSON.stringify(message.parsed_output)).p_solve, seats.pSolve);
  });

  test("a stream assembles to the verdict", async () => {
    const stream = client.messages.stream(body);
    let text = "";
    stream.on("text", (delta) => {
      text += delta;
    });
    const message = await stream.finalMessage();
    assert.equal(readVerdict(text).p_solve, seats.pSolve);
    assert.equal(textOf(message), text);
    assert.deepEqual([message.stop_reason, message.usage.input_tokens], ["end_turn", seats.tokens]);
  });

  test("errors are the client's own, with the request's id", async () => {
    const wrong = connect(seats.keyed.url, { apiKey: "sk-wrong" });
    for (const [call, type, name] of [
      [
        () => client.messages.create({ ...body, model: "nobody" }),
        Anthropic.NotFoundError,
        "not_found_error",
      ],
      [
        () => client.messages.create({ ...body, messages: [] }),
        Anthropic.BadRequestError,
        "invalid_request_error",
      ],
      [
        () => client.messages.create({ ...body, messages: [], stream: true }),
        Anthropic.BadRequestError,
        "invalid_request_error",
      ],
      [() => wrong.messages.create(body), Anthropic.AuthenticationError, "authentication_error"],
      [() => client.messages.batches.create({ requests: [] }), Anthropic.NotFoundError, "not_found_error"],
      [
        () => connect(`${seats.open.url}/v1`, { apiKey: "sk-any" }).messages.create(body),
        Anthropic.NotFoundError,
        "not_found_error",
      ],
    ] as const) {
      await assert.rejects(
        async () => await call(),
        (error) => {
          assert.ok(error instanceof type);
          assert.equal((error.error as { error: { type: string } }).error.type, name);
          assert.ok(error.requestID);
          return true;
        },
      );
    }
  });

  test("a key is sent either way", async () => {
    for (const auth of [{ apiKey: rightKey }, { authToken: rightKey }]) {
      const message = await connect(seats.keyed.url, auth).messages.create(body);
      assert.equal(readVerdict(textOf(message)).p_solve, seats.pSolve);
    }
  });
});
