// What a reload may change beside weights: which judges there are, what they are called, and who answers
// unknown names.
import assert from "node:assert/strict";
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fixturePath } from "../support/fixtures.js";
import { scrape } from "../support/http/metrics-text.js";
import { chat, type JudgeServer, startJudgeServer } from "../support/judge-server.js";
import { readError } from "../support/verdict.js";

const folder = mkdtempSync(join(tmpdir(), "judge-names-"));
after(() => rmSync(folder, { recursive: true }));
cpSync(fixturePath("tiny-encoder"), join(folder, "copy"), { recursive: true });

const base = `[runtime]\ndeadline_ms = 30000\nthreads = 1\n`;
const encoder = (id: string, path = fixturePath("tiny-encoder")) =>
  `[encoders.${id}]\ntype = "onnx"\npath = "${path}"\n`;
const judge = (id: string, more = "", encoderId = "tiny") =>
  `[judges.${id}]\ncheckpoint = "${fixturePath("checkpoints/router-json-v1")}"\nencoder = "${encoderId}"\noutput = "weak"\n${more}`;
const start = base + encoder("tiny") + judge("one") + judge("two", 'aliases = ["second"]\n');

let server: JudgeServer;
beforeEach(async () => {
  server = await startJudgeServer(start);
});
afterEach(() => server.close());

const names = async () => {
  const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
};
/** The judge that answers a name, or the code of the error. */
async function answers(model?: string): Promise<string | null> {
  const response = await server.post("/v1/chat/completions", { ...chat("Hi"), model });
  if (response.status !== 200) return (await readError(response)).code;
  return response.headers.get("x-prefill-judge-model");
}

test("a judge that is gone is unknown, its names too, and the others stay", async () => {
  assert.deepEqual(await names(), ["one", "two", "second"]);
  await server.reload(base + encoder("tiny") + judge("one"));
  assert.deepEqual(await names(), ["one"]);
  for (const name of ["two", "second"]) {
    assert.equal(await answers(name), "model_not_found");
    assert.equal((await fetch(`${server.url}/v1/models/${name}`)).status, 404);
  }
  assert.equal(await answers("one"), "one");
  assert.deepEqual(await (await fetch(`${server.url}/ready`)).json(), {
    ready: true,
    judges: { one: true },
    reasons: {},
  });
});

test("a judge that is renamed is found by its new name, and by the old one where that is an alias", async () => {
  await server.reload(base + encoder("tiny") + judge("uno") + judge("zwei", 'aliases = ["two", "second"]\n'));
  assert.deepEqual(await names(), ["uno", "zwei", "two", "second"]);
  assert.equal(await answers("one"), "model_not_found");
  for (const name of ["zwei", "two", "second"]) assert.equal(await answers(name), "zwei");
});

test("a name may move from one judge to another", async () => {
  await server.reload(base + encoder("tiny") + judge("one", 'aliases = ["second"]\n') + judge("two"));
  assert.equal(await answers("second"), "one");
});

test("default_judge comes, changes and goes", async () => {
  assert.equal(await answers("gpt-4"), "model_not_found");
  assert.equal(await answers(), "one");
  await server.reload(`default_judge = "second"\n${start}`);
  assert.deepEqual([await answers("gpt-4"), await answers()], ["two", "two"]);
  await server.reload(`default_judge = "one"\n${start}`);
  assert.equal(await answers("gpt-4"), "one");
  await server.reload(start);
  assert.equal(await answers("gpt-4"), "model_not_found");
});

test("names that two judges would share are refused, and the old ones stay", async () => {
  await assert.rejects(server.reload(start.replace("second", "one")), /both answer to "one"/);
  assert.deepEqual(await names(), ["one", "two", "second"]);
});

describe("settings of a judge", () => {
  test("that change are in its answers: rule and output", async () => {
    const pSolve = async () => {
      const response = await server.post("/v1/chat/completions", chat("Hi", { model: "one" }));
      const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
      const { primary_rule: rule, p_solve: p } = JSON.parse(choices[0]!.message.content);
      return [rule, p];
    };
    const [, weak] = await pSolve();
    await server.reload(start.replace('output = "weak"', 'output = "strong"\nprimary_rule = "UNC-1"'));
    const [rule, strong] = await pSolve();
    assert.equal(rule, "UNC-1");
    assert.notEqual(strong, weak);
  });
});

test("an encoder whose files change does not serve them under the old hash when its process dies", async () => {
  const path = join(folder, "changing");
  cpSync(fixturePath("tiny-encoder"), path, { recursive: true });
  await server.reload(base + encoder("changing", path) + judge("one", "", "changing"));
  const pSolve = async () => {
    const { headers } = await server.post("/v1/chat/completions", chat("Hi", { model: "one" }));
    return headers.has("x-prefill-judge-abstained") ? null : headers.get("x-prefill-judge-p-solve");
  };
  const before = await pSolve();
  appendFileSync(join(path, "chat_template.jinja"), "Another template.");
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
  for (const pid of children.trim().split(" ")) process.kill(Number(pid), "SIGKILL");
  const end = performance.now() + 3000;
  for (let found = null; found === null && performance.now() < end; await sleep(50)) {
    found = await pSolve();
    assert.ok(found === null || found === before, `p_solve ${found}, before ${before}`);
  }
});

describe("an encoder that a swap has ended", () => {
  const moved = base + encoder("copied", join(folder, "copy")) + judge("one", "", "copied");

  test("is no longer up in the metrics", async () => {
    const up = async (id: string) =>
      (await scrape(server.url)).get(`prefill_judge_encoder_up{encoder="${id}"}`);
    assert.equal(await up("tiny"), 1);
    await server.reload(moved);
    assert.equal(await up("copied"), 1);
    const end = performance.now() + 2000;
    while ((await up("tiny")) === 1 && performance.now() < end) await sleep(50);
    assert.notEqual(await up("tiny"), 1);
  });

  test("served every request that had begun on it, those of two generations too", async () => {
    const score = async (count: number) => {
      const prompts = Array.from(
        { length: count },
        (_, index) => `${index}: ${"add the numbers ".repeat(20)}`,
      );
      const response = await server.post("/v1/score", { model: "one", prompts });
      const { results } = (await response.json()) as { results: { abstained: string | null }[] };
      return results.filter(({ abstained }) => abstained !== null).length;
    };
    const first = score(200);
    await sleep(30);
    await server.reload(`${start}[judges.three]\n`.replace("[judges.three]", judge("three")));
    const second = score(600);
    await sleep(30);
    await server.reload(moved);
    assert.deepEqual([await first, await second], [0, 0], "abstentions");
  });
});
