// Requests of custom mode and of escalation, in all three APIs, on a real checkpoint of three outputs with
// costs of its own.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fixturePath, readJson } from "../support/fixtures.js";
import { type JudgeServer, startJudgeServer } from "../support/judge-server.js";
import { readVerdict } from "../support/verdict.js";

/** Outputs weak, mid and strong, which cost 0.1, 0.3 and 0.9. */
const base = `
[encoders.tiny]
type = "onnx"
path = "${fixturePath("tiny-encoder")}"
[judges.tiny]
checkpoint = "${fixturePath("checkpoints/llm-router/v3-shared-once.pt")}"
encoder = "tiny"
output = "weak"
`;
const custom = (lines: string) => `${base}[judges.tiny.custom]
pointer = "/decision/target"
targets = { efficient = "weak", middle = "mid", capable = "strong" }
template = { reason = "learned", decision = { score = 1.5 } }
${lines}
`;
const group = { type: "string", enum: ["efficient", "middle", "capable"] };
const schemaOf = (target: object, more: object = {}) => ({
  type: "object",
  properties: { decision: { type: "object", properties: { target }, required: ["target"] } },
  required: ["decision"],
  ...more,
});

interface Answer {
  readonly text: string;
  readonly abstained: string | null;
  readonly probabilities: Readonly<Record<string, number>>;
}

const user = (content: string) => [{ role: "user", content }];
const chatText = (answer: { choices: { message: { content: string } }[] }) =>
  answer.choices[0]!.message.content;
const responsesText = (answer: { output: { content: { text: string }[] }[] }) =>
  answer.output[0]!.content[0]!.text;

/** One request in the words of each API, and in those that clients mix them to; its answer's text. */
const apis: Readonly<
  Record<
    string,
    { path: string; body(text: string, name: string, schema: unknown): object; text(answer: never): string }
  >
> = {
  chat: {
    path: "/v1/chat/completions",
    body: (text, name, schema) => ({
      messages: user(text),
      response_format: { type: "json_schema", json_schema: { name, strict: true, schema } },
    }),
    text: chatText,
  },
  "chat, the schema beside the type": {
    path: "/v1/chat/completions",
    body: (text, _, schema) => ({ messages: user(text), response_format: { type: "json_schema", schema } }),
    text: chatText,
  },
  responses: {
    path: "/v1/responses",
    body: (text, name, schema) => ({
      input: user(text),
      text: { format: { type: "json_schema", name, strict: true, schema } },
    }),
    text: responsesText,
  },
  "responses, the schema under json_schema": {
    path: "/v1/responses",
    body: (text, name, schema) => ({
      input: user(text),
      text: { format: { type: "json_schema", json_schema: { name, strict: true, schema } } },
    }),
    text: responsesText,
  },
  messages: {
    path: "/v1/messages",
    body: (text, _, schema) => ({
      messages: user(text),
      max_tokens: 100,
      output_config: { format: { type: "json_schema", schema } },
    }),
    text: (answer: { content: { text: string }[] }) => answer.content[0]!.text,
  },
};

let server: JudgeServer;
before(async () => {
  server = await startJudgeServer(base);
});
after(() => server.close());

async function ask(api: string, text: string, schema: unknown, name = "switchyard_classifier_response") {
  const { path, body, text: textOf } = apis[api]!;
  const response = await server.post(path, body(text, name, schema));
  assert.equal(response.status, 200);
  const answer = (await response.json()) as { prefill_judge: Omit<Answer, "text"> };
  const { abstained, probabilities } = answer.prefill_judge;
  assert.equal(response.headers.get("x-prefill-judge-abstained"), abstained);
  return { text: textOf(answer as never), abstained, probabilities };
}
const inTemplate = (target: string) =>
  JSON.stringify({ reason: "learned", decision: { score: 1.5, target } });

for (const api of Object.keys(apis)) {
  describe(`a request of custom mode (${api})`, () => {
    test("is answered with the group that the rule chooses from the probabilities and the checkpoint's costs", async () => {
      const { abstained, probabilities } = await ask(api, "Hi", schemaOf(group));
      assert.deepEqual([abstained, probabilities], ["no_custom_table", {}]);
      // p of weak, mid and strong are 0.534, 0.372 and 0.545
      for (const [lines, wanted] of [
        ["tolerance = 0.2", "efficient"],
        ["tolerance = 0.005", "capable"],
        ['policy = "max"', "capable"],
        ["tolerance = 0.2\ncosts = { efficient = 3, middle = 1, capable = 2 }", "middle"],
        ['policy = "utility"\nlambda = 0.95', "efficient"],
      ] as const) {
        await server.reload(custom(lines));
        const answer = await ask(api, "Hi", schemaOf(group));
        assert.deepEqual([answer.text, answer.abstained], [inTemplate(wanted), null], lines);
        assert.deepEqual(Object.keys(answer.probabilities), ["weak", "mid", "strong"]);
      }
      await server.reload(base);
    });

    test("gets the default group, marked, where there is no text or the schema refuses", async () => {
      await server.reload(custom('default = "middle"'));
      for (const [text, schema, reason] of [
        [" ", schemaOf(group), "no_user_text"],
        ["Hi", schemaOf({ enum: ["middle", "capable"] }), "schema_not_met"],
        ["Hi", schemaOf(group, { required: ["decision", "crux"] }), "schema_not_met"],
        ["Hi", schemaOf({ pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" }), "schema_not_met"],
        ["Hi", { ...schemaOf(group), $ref: "http://127.0.0.1:9/x.json" }, "schema_not_met"],
        ["Hi", "no schema", "schema_not_met"],
      ] as const) {
        const answer = await ask(api, text, schema);
        assert.deepEqual([answer.text, answer.abstained], [inTemplate("middle"), reason]);
        assert.deepEqual(answer.probabilities, {});
      }
      await server.reload(base);
    });

    test("leaves capability requests what they are", async () => {
      await server.reload(custom(""));
      const capability = { type: "object", properties: { p_solve: { type: "number" } } };
      const { text, abstained } = await ask(api, "Hi", capability, "CapabilityClassifierDecision");
      assert.equal(abstained, null);
      assert.equal(readVerdict(text).primary_rule, "SUP-4");
      await server.reload(base);
    });

    test("to a judge without a table is an abstention with nothing at the selector", async () => {
      const { text, abstained } = await ask(api, "Hi", schemaOf(group));
      assert.equal(abstained, "no_custom_table");
      assert.deepEqual([readVerdict(text).primary_rule, readVerdict(text).p_solve], ["none", 0]);
    });
  });

  test(`an escalation request (${api}) is answered as configured, and abstained from`, async () => {
    const { openai_chat: recorded } = readJson<{
      openai_chat: { case: string; body: { response_format: { json_schema?: { schema: unknown } } } }[];
    }>(fixturePath("switchyard/judge-requests.json"));
    const { schema } = recorded.find(({ case: name }) => name.startsWith("escalation/"))!.body.response_format
      .json_schema!;
    for (const [lines, wanted] of [
      ["", false],
      ['escalation = "stay"', false],
      ['escalation = "escalate"', true],
    ] as const) {
      await server.reload(`${base}${lines}\n`);
      const { text, abstained } = await ask(api, "Conversation turn 1 …", schema, "EscalationVerdict");
      const verdict = JSON.parse(text) as { escalate: boolean; reason: string };
      assert.deepEqual(Object.keys(verdict), ["escalate", "reason"]);
      assert.deepEqual([verdict.escalate, abstained], [wanted, "running_transcript"]);
      assert.match(verdict.reason, /^Judge tiny abstains: /);
    }
    await server.reload(base);
  });
}

test("a format that gives no schema at all asks for a capability verdict", async () => {
  for (const format of [{}, { json_schema: {} }, { json_schema: null }, { schema: undefined }]) {
    for (const [path, body] of [
      ["/v1/chat/completions", { response_format: { type: "json_schema", ...format } }],
      ["/v1/messages", { max_tokens: 1, output_config: { format: { type: "json_schema", ...format } } }],
    ] as const) {
      const response = await server.post(path, { messages: user("Hi"), ...body });
      assert.equal(response.headers.get("x-prefill-judge-abstained"), null, JSON.stringify(body));
      await response.arrayBuffer();
    }
  }
});

test("every request of custom mode that Switchyard 0.3.0 sends is judged by its opening user message", async () => {
  const { openai_chat: all } = readJson<{
    openai_chat: { case: string; body: object; first_user_text: string }[];
  }>(fixturePath("switchyard/judge-requests.json"));
  await server.reload(custom("tolerance = 0.005"));
  const recorded = all.filter(({ case: name }) => name.startsWith("custom/"));
  assert.ok(recorded.length >= 4);
  for (const { case: name, body, first_user_text: text } of recorded) {
    const response = await server.post("/v1/chat/completions", { ...body, model: "tiny" });
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
    const wanted = await ask("chat", text, schemaOf({ enum: ["capable", "efficient"] }));
    assert.equal(choices[0]!.message.content, wanted.text, name);
  }
  await server.reload(base);
});

test("on_failure = error makes errors of failures alone: never of these abstentions", async () => {
  const strict = await startJudgeServer(base, { "--on-failure": "error" }, false);
  try {
    for (const [name, reason] of [
      ["EscalationVerdict", "running_transcript"],
      ["switchyard_classifier_response", "no_custom_table"],
    ] as const) {
      const { path, body } = apis.chat!;
      const response = await strict.post(path, body("Hi", name, schemaOf(group)));
      assert.deepEqual([response.status, response.headers.get("x-prefill-judge-abstained")], [200, reason]);
    }
    const response = await strict.post("/v1/messages", { messages: user("Hi"), max_tokens: 1 });
    assert.equal(response.status, 503);
    const { error } = (await response.json()) as { error: { type: string } };
    assert.equal(error.type, "overloaded_error");
  } finally {
    await strict.close();
  }
});

test("a table that does not fit its checkpoint is refused at the load, and what serves stays", async () => {
  await assert.rejects(server.reload(custom("costs = { capable = 1 }")), {
    code: "config",
    message: "judges.tiny.custom.costs lacks efficient, middle; give every group of targets a cost",
  });
  assert.equal((await ask("chat", "Hi", schemaOf(group))).abstained, "no_custom_table");
});
