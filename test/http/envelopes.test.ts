// A coding agent's request is judged by what its user typed, on each API; the configuration adds markers, or
// leaves texts be.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiPaths, clientRequests } from "../support/clients/requests.js";
import { fixturePath } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";

const strip = `${tinyConfig}envelopes = "strip"\n`;
const latest = `
[judges.latest]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "tiny"
output = "weak"
max_tokens = 256
message = "latest"
envelopes = "strip"
`;
const own = `
[[envelopes]]
client = "house-ide"
kind = "block"
start = "<<house"
end = "house>>"
`;
const harness = "<system-reminder>\nUse tabs.\n</system-reminder>";

interface Facts {
  readonly p_solve: number | null;
  readonly abstained: string | null;
  readonly envelopes?: readonly { client: string; kind: string; count: number; characters: number }[];
}

let server: JudgeServer;
let plain: JudgeServer;
before(async () => {
  server = await startJudgeServer(`${strip}${latest}${own}`, { "--deadline-ms": "60000" });
  plain = await startJudgeServer(`${tinyConfig}${own}`, { "--deadline-ms": "60000" });
});
after(() => Promise.all([server?.close(), plain?.close()]));

async function factsOf(from: JudgeServer, path: string, body: unknown): Promise<Facts> {
  const response = await from.post(path, body);
  assert.equal(response.status, 200);
  return ((await response.json()) as { prefill_judge: Facts }).prefill_judge;
}
const typed = async (text: string) => (await factsOf(server, apiPaths.chat, chat(text))).p_solve;

describe("what a user typed is judged", () => {
  for (const { client, shape, api, body, first, latest: last } of clientRequests()) {
    test(`${client}: ${shape}`, async () => {
      for (const [model, text] of [
        ["tiny", first],
        ["latest", last],
      ] as const) {
        const { p_solve, envelopes } = await factsOf(server, apiPaths[api], { ...body, model });
        assert.equal(p_solve, await typed(text), model);
        if (model === "tiny") assert.ok(envelopes!.length > 0 && envelopes!.every(({ count }) => count > 0));
      }
      const kept = await factsOf(plain, apiPaths[api], { ...body, model: "tiny" });
      assert.notEqual(kept.p_solve, await typed(first));
      assert.equal(kept.envelopes, undefined);
    });
  }
});

test("different tasks of one client get different p", async () => {
  const tasks = ["Add a test.", "What is 2+2?", "Prove it."];
  const found = await Promise.all(
    tasks.map(async (task) => (await factsOf(server, apiPaths.chat, chat(`${harness}\n${task}`))).p_solve),
  );
  assert.equal(new Set(found).size, 3);
});

test("a request of nothing but harness abstains", async () => {
  const { abstained, envelopes } = await factsOf(server, apiPaths.chat, chat(harness));
  assert.equal(abstained, "no_user_text");
  assert.deepEqual(envelopes, [
    { client: "claude-code", kind: "block", count: 1, characters: harness.length },
  ]);
});

test("a score takes off the same, and says so", async () => {
  const prompts = [`${harness}\nHi`, "Hi", harness];
  const response = await server.post("/v1/score", { model: "tiny", prompts });
  const { results } = (await response.json()) as { results: Facts[] };
  assert.equal(results[0]!.p_solve, results[1]!.p_solve);
  assert.deepEqual(
    results.map(({ envelopes, abstained }) => [envelopes?.[0]?.client ?? null, abstained]),
    [
      ["claude-code", null],
      [null, null],
      ["claude-code", "no_user_text"],
    ],
  );
});

test("markers of one's own are taken off too, and counted by their client", async () => {
  const count = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(
      /^prefill_judge_envelopes_total\{judge="tiny",client="house-ide"\} (\d+)$/m.exec(text)?.[1] ?? 0,
    );
  };
  const before = await count();
  const { p_solve, envelopes } = await factsOf(
    server,
    apiPaths.chat,
    chat("<<house\nrules\nhouse>>\nHi\n<<house x house>>"),
  );
  assert.equal(p_solve, await typed("Hi"));
  assert.deepEqual(
    envelopes?.map(({ client, count: times }) => [client, times]),
    [["house-ide", 2]],
  );
  assert.equal((await count()) - before, 2);
});

test("an earlier response or a conversation holds the opening text: a judge of it abstains, one of the latest does not", async () => {
  for (const more of [
    { previous_response_id: "resp_1" },
    { conversation: "conv_1" },
    { conversation: { id: "conv_1" } },
  ]) {
    const body = { input: "thanks, go on", ...more };
    const { abstained, p_solve } = await factsOf(server, apiPaths.responses, { model: "tiny", ...body });
    assert.deepEqual([abstained, p_solve], ["no_opening_text", null]);
    const last = await factsOf(server, apiPaths.responses, { model: "latest", ...body });
    assert.equal(last.p_solve, await typed("thanks, go on"));
  }
  const none = { model: "tiny", input: "Hi", previous_response_id: null, conversation: null };
  assert.equal((await factsOf(server, apiPaths.responses, none)).abstained, null);
});

test("parts of every API are read on every route", async () => {
  for (const [api, list] of [
    ["chat", "messages"],
    ["responses", "input"],
    ["messages", "messages"],
  ] as const) {
    for (const type of ["text", "input_text", "output_text"]) {
      const messages = [{ role: "user", content: [{ type, text: "Prove it." }] }];
      const { p_solve } = await factsOf(server, apiPaths[api], {
        model: "tiny",
        max_tokens: 1,
        [list]: messages,
      });
      assert.equal(p_solve, await typed("Prove it."), `${api} ${type}`);
    }
  }
});

test("a malformed part is refused where it is judged, and passed by where it is not", async () => {
  const broken = { role: "user", content: [{ type: "text" }] };
  const fine = { role: "user", content: "Hi" };
  for (const [api, list] of [
    ["chat", "messages"],
    ["responses", "input"],
    ["messages", "messages"],
  ] as const) {
    const body = (model: string, messages: object[]) => ({ model, max_tokens: 1, [list]: messages });
    assert.equal(
      (await factsOf(server, apiPaths[api], body("tiny", [fine, broken]))).p_solve,
      await typed("Hi"),
    );
    assert.equal(
      (await factsOf(server, apiPaths[api], body("latest", [broken, fine]))).p_solve,
      await typed("Hi"),
    );
    const refused = await server.post(apiPaths[api], body("tiny", [broken, fine]));
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), new RegExp(`${list}\\[0\\]\\.content\\[0\\]\\.text: wanted a string`));
  }
});
