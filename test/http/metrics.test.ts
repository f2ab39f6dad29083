// /metrics against what was sent.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { abstainReasons } from "../../src/judge/abstention-reasons.js";
import { added, type Series, scrape } from "../support/http/metrics-text.js";
import { faultWords, faultyConfig, writeFaultyEncoder } from "../support/http/privacy-encoder.js";
import { chatPath, postHead, rawClient } from "../support/http/raw-socket.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { type Completion, readCompletion } from "../support/verdict.js";

/** A judgement is counted after its answer. */
const settleMs = 100;
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe("metrics", () => {
  const encoder = writeFaultyEncoder();
  let server: JudgeServer;
  before(async () => {
    server = await startJudgeServer(faultyConfig(encoder));
  });
  after(async () => {
    await server.close();
    rmSync(encoder, { recursive: true });
  });

  /** The scrapes before and after some work. */
  async function around(work: () => Promise<unknown>): Promise<(name: string) => number> {
    const before = await scrape(server.url);
    await work();
    await sleep(settleMs);
    const after = await scrape(server.url);
    return (name) => added(before, after, name);
  }
  const ask = async (content: unknown, more: object = {}) =>
    (await readCompletion(await server.post(chatPath, chat(content, more)))).completion;

  test("start at 0 for every judge, encoder and reason there is", async () => {
    const fresh = await startJudgeServer(`${tinyConfig}`, {}, false);
    try {
      const series = await scrape(fresh.url);
      const zeros = [
        ...abstainReasons.map((reason) => `abstentions_total{judge="tiny",reason="${reason}"}`),
        ...["hit", "shared", "miss"].map((result) => `cache_total{judge="tiny",result="${result}"}`),
        'truncations_total{judge="tiny"}',
        'encoder_restarts_total{encoder="tiny"}',
        'connections_closed_total{reason="idle"}',
        'connections_closed_total{reason="unread"}',
        "body_waits_total",
      ];
      for (const name of zeros) assert.equal(series.get(`prefill_judge_${name}`), 0, name);
    } finally {
      await fresh.close();
    }
  });

  test("count requests by route, outcome and status", async () => {
    const growth = await around(async () => {
      for (const text of ["a", "b", "c"]) await ask(text);
      await (await server.post(chatPath, chat("d", { stream: true }))).text();
      await ask(" ");
      await server.post("/score", { prompts: ["a"] });
      for (const body of ["{", "[]"]) await server.post(chatPath, body);
      await server.post(chatPath, chat("e", { model: "nobody" }));
      for (const path of ["/v1/models", "/v1/models/tiny", "/models/org/judge", "/health", "/none", "/nor"]) {
        await fetch(server.url + path);
      }
      await fetch(server.url + chatPath);
    });
    const counts = {
      'chat",outcome="judged",status="200': 4,
      'chat",outcome="abstained",status="200': 1,
      'score",outcome="judged",status="200': 1,
      'chat",outcome="refused",status="400': 2,
      'chat",outcome="refused",status="404': 1,
      'chat",outcome="refused",status="405': 1,
      'models",outcome="answered",status="200': 1,
      'model",outcome="answered",status="200': 2,
      'health",outcome="answered",status="200': 1,
      'other",outcome="refused",status="404': 2,
    };
    for (const [labels, count] of Object.entries(counts)) {
      assert.equal(growth(`requests_total{route="${labels}"}`), count, labels);
    }
    assert.equal(growth('request_seconds_count{route="chat"}'), 9);
    assert.equal(growth('request_seconds_bucket{le="+Inf",route="chat"}'), 9);
    assert.ok(growth('request_seconds_sum{route="chat"}') > 0);
  });

  test("hold every judgement's p_solve, tokens and stages, texts of a score one by one", async () => {
    const texts = ["Hi", "What is 2+2?", `${"word ".repeat(40)}`, "first ".repeat(500)];
    const facts: Completion["prefill_judge"][] = [];
    let scored: { p_solve: number; tokens: number; truncated: boolean }[] = [];
    const growth = await around(async () => {
      for (const text of texts) facts.push((await ask(text)).prefill_judge);
      const response = await server.post("/v1/score", { prompts: [...texts, " "] });
      scored = ((await response.json()) as { results: typeof scored }).results;
    });
    const judged = [...facts, ...scored.slice(0, -1)] as typeof scored;
    const judge = 'judge="tiny"';
    assert.equal(judged.length, 8);
    assert.equal(growth(`p_solve_count{${judge}}`), 8);
    const near = (found: number, wanted: number) => assert.ok(Math.abs(found - wanted) < 1e-6, `${found}`);
    near(growth(`p_solve_sum{${judge}}`), sum(judged.map((entry) => entry.p_solve)));
    for (const limit of [0.2, 0.5, 0.6, 0.7, 1]) {
      const below = judged.filter((entry) => entry.p_solve <= limit).length;
      assert.equal(growth(`p_solve_bucket{le="${limit}",${judge}}`), below, `p_solve up to ${limit}`);
    }
    assert.equal(growth(`tokens_count{${judge}}`), 8);
    near(growth(`tokens_sum{${judge}}`), sum(judged.map((entry) => entry.tokens)));
    assert.equal(
      growth(`tokens_bucket{le="32",${judge}}`),
      judged.filter(({ tokens }) => tokens <= 32).length,
    );
    assert.deepEqual(
      [growth(`truncations_total{${judge}}`), judged.filter((one) => one.truncated).length],
      [2, 2],
    );
    for (const stage of ["queue", "tokenize", "prefill", "head"]) {
      assert.equal(
        growth(`stage_seconds_count{${judge},stage="${stage}"}`),
        4,
        `${stage}: none of a kept result`,
      );
    }
    for (const result of ["miss", "hit"]) {
      assert.equal(growth(`cache_total{${judge},result="${result}"}`), 4, result);
    }
    const prefill = sum(facts.map((entry) => entry.milliseconds.prefill!)) / 1000;
    assert.ok(growth(`stage_seconds_sum{${judge},stage="prefill"}`) >= prefill - 1e-5);
    assert.equal(growth(`abstentions_total{${judge},reason="no_user_text"}`), 1);
  });

  test("count the texts of each run; a kept result needs none", async () => {
    const growth = await around(async () => {
      for (const text of ["run one", "run two", "run one"]) await ask(text);
      const prompts = Array.from({ length: 8 }, (_, index) => `run of several ${index}`);
      await (await server.post("/v1/score", { prompts })).text();
    });
    assert.equal(growth('batch_texts_sum{encoder="tiny"}'), 10);
    const runs = growth('batch_texts_count{encoder="tiny"}');
    assert.ok(runs >= 3 && runs < 10, `${runs} runs`);
    assert.ok(growth('batch_texts_bucket{le="1",encoder="tiny"}') >= 2);
  });

  test("count abstentions by reason", async () => {
    const growth = await around(async () => {
      await ask(" ");
      await ask(null);
      for (const word of Object.values(faultWords)) {
        assert.equal((await ask(`a ${word} b`)).prefill_judge.abstained, "encoder_error");
      }
    });
    assert.equal(growth('abstentions_total{judge="tiny",reason="no_user_text"}'), 2);
    assert.equal(growth('abstentions_total{judge="tiny",reason="encoder_error"}'), 3);
    assert.equal(growth('p_solve_count{judge="tiny"}'), 0, "an abstention has no p_solve");
    assert.equal(growth('requests_total{route="chat",outcome="abstained",status="200"}'), 5);
  });

  test("count a client that leaves as one that got no answer", async () => {
    const growth = await around(async () => {
      const client = rawClient(server.url);
      await client.write(`${postHead(chatPath, 100)}{`);
      client.close();
    });
    assert.equal(growth('requests_total{route="chat",outcome="refused",status="499"}'), 1);
    assert.equal(growth('p_solve_count{judge="tiny"}'), 0);
  });

  test("tell the event loop's lag, memory and processor time", async () => {
    const series = await scrape(server.url);
    for (const name of [
      "nodejs_eventloop_lag_seconds",
      "nodejs_eventloop_lag_p99_seconds",
      "process_resident_memory_bytes",
      "process_cpu_seconds_total",
    ]) {
      assert.ok((series.get(name) ?? 0) > 0, name);
    }
  });

  test("stay the same series under 200 random models, paths, request ids and methods", async () => {
    const random = (turn: number) => `r${turn}-${(turn * 7919) % 1009}`;
    const send = async (turn: number) => {
      const name = random(turn);
      const headers = { "x-request-id": name, "user-agent": name };
      const paths = [`/${name}`, `/v1/models/${name}`, `/health?${name}`, `/v1/chat/${name}/completions`];
      await Promise.all([
        ask("Hi", { user: name }),
        server.post(chatPath, chat("Hi", { model: name }), headers),
        server.post("/v1/score", { prompts: ["Hi"], [name]: 1 }, headers),
        fetch(`${server.url}/health`, { method: ["DELETE", "PATCH", "PURGE", "MKCOL"][turn % 4]! }),
        ...paths.map((path) => fetch(server.url + path, { headers })),
      ]);
    };
    const names = (series: Series) =>
      [...series.keys()].filter((name) => name.startsWith("prefill_judge_")).sort();
    for (let turn = 0; turn < 4; turn++) await send(turn);
    const before = await scrape(server.url);
    for (let turn = 4; turn < 204; turn++) await send(turn);
    await sleep(settleMs);
    const after = await scrape(server.url);
    assert.deepEqual(names(after), names(before));
    assert.ok(after.size < 500, `${after.size} series`);
    assert.equal(added(before, after, 'requests_total{route="other",outcome="refused",status="404"}'), 400);
  });

  test("count a killed encoder once, show it down, and up again", async () => {
    const growth = await around(async () => {
      const pid = server.encoderPid()!;
      process.kill(pid, "SIGKILL");
      while (server.encoderPid() === pid) await sleep(5);
      assert.equal((await scrape(server.url)).get('prefill_judge_encoder_up{encoder="tiny"}'), 0);
      assert.equal((await ask("asked while it is down")).prefill_judge.abstained, "encoder_down");
      const end = performance.now() + 20_000;
      while (!server.judges.registry.ready && performance.now() < end) await sleep(20);
    });
    assert.equal(growth('encoder_restarts_total{encoder="tiny"}'), 1);
    assert.equal(growth('abstentions_total{judge="tiny",reason="encoder_down"}'), 1);
    assert.equal((await scrape(server.url)).get('prefill_judge_encoder_up{encoder="tiny"}'), 1);
  });
});

test("a deadline that passes is counted as such", async () => {
  const server = await startJudgeServer(tinyConfig, { "--deadline-ms": "1" });
  try {
    for (let turn = 0; turn < 5; turn++) await server.post(chatPath, chat("word ".repeat(4000)));
    await sleep(settleMs);
    const series = await scrape(server.url);
    const late = series.get('prefill_judge_abstentions_total{judge="tiny",reason="deadline"}') ?? 0;
    const judged = series.get('prefill_judge_p_solve_count{judge="tiny"}') ?? 0;
    assert.ok(late > 0, "no deadline passed");
    assert.equal(late + judged, 5);
  } finally {
    await server.close();
  }
});
