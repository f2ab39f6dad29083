// What a client gets while the encoder is down, late, or killed under its request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { judgedRows, packagePath } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readCompletion, readError } from "../support/verdict.js";

const longText = "Natural numbers and their sums. ".repeat(200);
const fastConfig = `
[judges.tiny]
checkpoint = "${packagePath("checkpoints/minilm-l6")}"
encoder = "minilm"
output = "mistralai/Mixtral-8x7B-Instruct-v0.1"
`;

async function withServer(
  server: Promise<JudgeServer>,
  work: (server: JudgeServer) => Promise<void>,
): Promise<void> {
  const started = await server;
  try {
    await work(started);
  } finally {
    await started.close();
  }
}

async function until(condition: () => Promise<boolean> | boolean, timeoutMs = 20_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    assert.ok(performance.now() < end, "condition not reached in time");
    await sleep(20);
  }
}

test("before the selftest has passed: ready is 503, health is 200, requests abstain", () =>
  withServer(startJudgeServer(tinyConfig, {}, false), async (server) => {
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
    const ready = await fetch(`${server.url}/ready`);
    assert.equal(ready.status, 503);
    const reasons = { tiny: "no process of encoder tiny runs" };
    assert.deepEqual(await ready.json(), { ready: false, judges: { tiny: false }, reasons });
    const response = await server.post("/v1/chat/completions", chat("Hi"));
    assert.equal(response.headers.get("x-prefill-judge-abstained"), "encoder_down");
    const { verdict } = await readCompletion(response);
    assert.deepEqual([verdict.primary_rule, verdict.p_solve], ["none", 0]);
  }));

test("a deadline that passes ends in an abstention, in a stream too, and the next request is judged", () =>
  withServer(startJudgeServer(fastConfig, { "--deadline-ms": "1" }), async (server) => {
    const response = await server.post("/v1/chat/completions", chat(longText));
    assert.equal(response.headers.get("x-prefill-judge-abstained"), "deadline");
    await readCompletion(response);
    const stream = await server.post("/v1/chat/completions", chat(longText, { stream: true }));
    assert.equal(stream.headers.get("x-prefill-judge-abstained"), "deadline");
    assert.match(await stream.text(), /"none.*\[DONE\]/s);
    const scored = (await (await server.post("/v1/score", { prompts: [longText] })).json()) as {
      results: { abstained: string; p_solve: null }[];
    };
    assert.deepEqual([scored.results[0]!.abstained, scored.results[0]!.p_solve], ["deadline", null]);
  }));

for (const [condition, status, code, type] of [
  ["deadline", 504, "deadline", "timeout_error"],
  ["encoder down", 503, "encoder_down", "overloaded_error"],
] as const) {
  test(`on_failure = "error" answers ${status}: ${condition}`, () => {
    const flags = { "--on-failure": "error", "--deadline-ms": "1" };
    return withServer(startJudgeServer(fastConfig, flags, condition === "deadline"), async (server) => {
      const response = await server.post("/v1/chat/completions", chat(longText));
      assert.equal(response.status, status);
      assert.equal((await readError(response)).code, code);
      assert.equal((await server.post("/v1/score", { prompts: [longText] })).status, status);
      const message = await server.post("/v1/messages", chat(longText));
      assert.equal(message.status, status);
      assert.equal(((await message.json()) as { error: { type: string } }).error.type, type);
      const noText = await server.post("/v1/chat/completions", chat(" "));
      assert.equal(noText.headers.get("x-prefill-judge-abstained"), "no_user_text");
    });
  });
}

test("a token count of a judge that is not ready is an error, since no number would be true", () =>
  withServer(startJudgeServer(tinyConfig, {}, false), async (server) => {
    const response = await server.post("/v1/messages/count_tokens", chat("Hi"));
    assert.equal(response.status, 503);
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    assert.deepEqual(error, { type: "overloaded_error", message: "judge tiny is not ready; ask again" });
  }));

test("kill -9 of the encoder under 16 requests: each gets the reference p or an abstention, then it is back", (context) =>
  withServer(startJudgeServer(fastConfig, { "--deadline-ms": "20000" }), async (server) => {
    const rows = judgedRows("minilm-l6").slice(0, 16);
    const outcomes = { judged: 0, abstained: 0 };
    for (let round = 0; round < 3; round++) {
      await until(() => server.judges.registry.ready);
      const pid = server.encoderPid()!;
      // long prompts first, so that the kill finds work running and work waiting
      const long = Array.from({ length: 4 }, () => server.post("/v1/chat/completions", chat(longText)));
      const answers = rows.map(async (row) => {
        const response = await server.post("/v1/chat/completions", chat(row.prompt));
        const { completion } = await readCompletion(response);
        const { p_solve: p, abstained } = completion.prefill_judge;
        if (abstained === null) {
          const wanted = Object.values(row.probabilities)[0]!;
          assert.ok(Math.abs((p as number) - wanted) <= 2e-3, `p ${p}, wanted ${wanted}`);
          outcomes.judged++;
        } else {
          assert.equal(abstained, "encoder_down");
          outcomes.abstained++;
        }
      });
      await sleep(60);
      process.kill(pid, "SIGKILL");
      await until(async () => server.encoderPid() !== pid);
      assert.equal((await fetch(`${server.url}/ready`)).status, 503);
      await Promise.all([...answers, ...long.map(async (response) => readCompletion(await response))]);
    }
    context.diagnostic(`judged ${outcomes.judged}, abstained ${outcomes.abstained}`);
    await until(() => server.judges.registry.ready);
    const { completion } = await readCompletion(
      await server.post("/v1/chat/completions", chat(rows[0]!.prompt)),
    );
    assert.equal(completion.prefill_judge.abstained, null);
    assert.equal((await fetch(`${server.url}/ready`)).status, 200);
  }));

test("a request that kills the encoder twice is not sent a third time", () =>
  withServer(startJudgeServer(fastConfig, { "--deadline-ms": "20000" }), async (server) => {
    const answer = server.post("/v1/chat/completions", chat(longText.repeat(2)));
    for (let kill = 0; kill < 2; kill++) {
      await until(() => server.judges.registry.ready);
      const pid = server.encoderPid()!;
      await sleep(10);
      process.kill(pid, "SIGKILL");
      await until(() => server.encoderPid() !== pid);
    }
    const response = await answer;
    assert.equal(response.headers.get("x-prefill-judge-abstained"), "encoder_down");
  }));

test("a client that leaves frees its place and harms nobody", () =>
  withServer(startJudgeServer(fastConfig, { "--deadline-ms": "20000" }), async (server) => {
    // no answer can come before the clients leave
    const pid = server.encoderPid()!;
    process.kill(pid, "SIGSTOP");
    const controller = new AbortController();
    const left = Array.from({ length: 20 }, (_, n) =>
      fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify(chat(`${n} ${longText}`)),
        signal: controller.signal,
      }).catch((error: Error) => error.name),
    );
    // it is answered after the others have come
    await fetch(`${server.url}/health`);
    await sleep(50);
    controller.abort();
    assert.ok((await Promise.all(left)).every((outcome) => outcome === "AbortError"));
    await until(() => server.logLines.some((line) => line.includes('"code":"client_gone"')));
    process.kill(pid, "SIGCONT");
    const { completion } = await readCompletion(await server.post("/v1/chat/completions", chat("Hi")));
    assert.equal(completion.prefill_judge.abstained, null);
  }));

test("20 parallel clients get the p_solve of a single one within 1e-5", () =>
  withServer(startJudgeServer(tinyConfig, { "--deadline-ms": "60000" }), async (server) => {
    const texts = Array.from({ length: 20 }, (_, n) => `Task ${n}: ${"add the numbers ".repeat(n)}`);
    const ask = async (text: string) =>
      (await readCompletion(await server.post("/v1/chat/completions", chat(text)))).verdict;
    const alone: number[] = [];
    for (const text of texts) alone.push((await ask(text)).p_solve);
    const together = await Promise.all(texts.map(ask));
    together.forEach((verdict, index) => {
      assert.ok(Math.abs(verdict.p_solve - alone[index]!) <= 1e-5);
    });
    assert.ok(new Set(alone).size > 10);
  }));
