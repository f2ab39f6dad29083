// The Responses API of the openai package of Node.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import * as z from "zod";
import { ChatCompletion } from "../../src/http/apis/chat.js";
import { ResponsesAnswer } from "../../src/http/apis/responses.js";
import { decision, prompt, rightKey } from "../support/clients/answered-requests.js";
import { type Seats, startSeats } from "../support/clients/seats.js";
import { chat } from "../support/judge-server.js";
import { readVerdict } from "../support/verdict.js";

const Decision = z.fromJSONSchema(decision.schema as z.core.JSONSchema.JSONSchema);

describe("openai (Node), Responses API", () => {
  let seats: Seats;
  let client: OpenAI;
  const connect = (url: string, apiKey: string) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  before(async () => {
    seats = await startSeats();
    client = connect(seats.open.url, "sk-any");
  });
  after(() => seats?.close());

  test("a response has the verdict as its output_text, and the usage", async () => {
    const response = await client.responses.create({ model: "tiny", input: prompt });
    assert.equal(readVerdict(response.output_text).p_solve, seats.pSolve);
    assert.deepEqual(
      [response.status, response.error, response.incomplete_details],
      ["completed", null, null],
    );
    const { input_tokens: input, output_tokens: output, total_tokens: total } = response.usage!;
    assert.deepEqual([input, output, total], [seats.tokens, 0, seats.tokens]);
  });

  test("answers have every key that the client's own types require: the compiler says so", async () => {
    const response = await seats.open.post("/v1/responses", { model: "tiny", input: prompt });
    const typed: Omit<OpenAI.Responses.Response, "output_text"> = ResponsesAnswer.parse(
      await response.json(),
    );
    assert.deepEqual(typed.usage?.input_tokens_details, { cached_tokens: 0, cache_write_tokens: 0 });
    const completion = await seats.open.post("/v1/chat/completions", chat(prompt));
    const { choices }: OpenAI.ChatCompletion = ChatCompletion.parse(await completion.json());
    assert.equal(choices.length, 1);
  });

  test("text beside an image is judged, whatever else the request asks for", async () => {
    const content: OpenAI.Responses.ResponseInputContent[] = [
      { type: "input_text", text: prompt.split("\n")[0]! },
      { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "auto" },
      { type: "input_text", text: prompt.split("\n")[1]! },
    ];
    const response = await client.responses.create({
      model: "org/judge",
      instructions: "Judge.",
      input: [
        { role: "developer", content: "Be strict." },
        { role: "user", content },
        { role: "assistant", content: "Done." },
        { role: "user", content: "Another task" },
      ],
      tools: [{ type: "web_search" }],
      reasoning: { effort: "low" },
      max_output_tokens: 16,
      store: true,
      metadata: { a: "b" },
    });
    assert.equal(readVerdict(response.output_text).p_solve, seats.pSolve);
  });

  test("structured output is parsed, from a stream too", async () => {
    const body = {
      model: "tiny",
      input: prompt,
      text: { format: zodTextFormat(Decision, decision.name) },
    } as const;
    const parsed = await client.responses.parse(body);
    const streamed = await client.responses.stream(body).finalResponse();
    for (const { output_parsed: verdict } of [parsed, streamed])
      assert.equal(readVerdict(JSON.stringify(verdict)).p_solve, seats.pSolve);
  });

  test("a stream assembles to the verdict", async () => {
    let text = "";
    const types: string[] = [];
    for await (const event of await client.responses.create({ model: "tiny", input: prompt, stream: true })) {
      types.push(event.type);
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    assert.equal(readVerdict(text).p_solve, seats.pSolve);
    assert.deepEqual([types[0], types.at(-1)], ["response.created", "response.completed"]);
  });

  test("errors are the client's own", async () => {
    for (const [call, type, code] of [
      [
        () => client.responses.create({ model: "nobody", input: "x" }),
        OpenAI.NotFoundError,
        "model_not_found",
      ],
      [
        () => client.responses.create({ model: "tiny", input: [] }),
        OpenAI.BadRequestError,
        "invalid_request",
      ],
      [
        () => client.responses.create({ model: "tiny", input: [], stream: true }),
        OpenAI.BadRequestError,
        "invalid_request",
      ],
      [
        () => connect(seats.keyed.url, "sk-wrong").responses.create({ model: "tiny", input: "x" }),
        OpenAI.AuthenticationError,
        "invalid_api_key",
      ],
    ] as const) {
      await assert.rejects(
        async () => await call(),
        (error) => error instanceof type && error.code === code,
      );
    }
    const response = await connect(seats.keyed.url, rightKey).responses.create({
      model: "tiny",
      input: prompt,
    });
    assert.equal(readVerdict(response.output_text).p_solve, seats.pSolve);
  });
});
