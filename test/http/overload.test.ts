// More requests than the queue takes: each is answered at once, as an abstention or as 429, and the others as
// ever. Equal texts and kept results need no place.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";

const small = `[runtime]\nqueue_limit = 1\nmax_batch = 1\n${tinyConfig}`;
const texts = Array.from({ length: 24 }, (_, index) => `prompt ${index}: ${"some words ".repeat(80)}`);

async function withServer(toml: string, work: (server: JudgeServer) => Promise<void>) {
  const server = await startJudgeServer(toml, { "--deadline-ms": "60000" });
  try {
    await work(server);
  } finally {
    await server.close();
  }
}

interface Answer {
  prefill_judge: { abstained: string | null; cache: string | null; p_solve: number | null };
}

test("a full queue makes the request abstain, and the next one is judged again", async () => {
  await withServer(small, async (server) => {
    const responses = await Promise.all(texts.map((text) => server.post("/v1/chat/completions", chat(text))));
    const answers = await Promise.all(responses.map(async (one) => (await one.json()) as Answer));
    const reasons = answers.map((answer) => answer.prefill_judge.abstained);
    assert.ok(reasons.includes("overloaded"), "the queue was never full");
    assert.ok(reasons.includes(null), "nobody was judged");
    assert.ok(reasons.every((reason) => reason === null || reason === "overloaded"));
    for (const [index, response] of responses.entries()) {
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("x-prefill-judge-abstained"), reasons[index]);
    }
    const again = (await (await server.post("/v1/chat/completions", chat("quiet"))).json()) as Answer;
    assert.equal(again.prefill_judge.abstained, null);
  });
});

test('on_failure = "error": 429 with Retry-After', async () => {
  await withServer(small.replace("[runtime]", '[runtime]\non_failure = "error"'), async (server) => {
    const responses = await Promise.all(texts.map((text) => server.post("/v1/chat/completions", chat(text))));
    const full = responses.filter(({ status }) => status !== 200);
    assert.ok(full.length > 0 && full.length < texts.length);
    for (const response of full) {
      assert.equal(response.status, 429);
      assert.ok(Number(response.headers.get("retry-after")) >= 1);
      const { error } = (await response.json()) as { error: { code: string; type: string } };
      assert.deepEqual([error.code, error.type], ["overloaded", "server_error"]);
    }
  });
});

test("equal texts share one run and one place; later ones are hits, whatever else fills the queue", async () => {
  await withServer(small, async (server) => {
    const ask = async (text: string) =>
      ((await (await server.post("/v1/chat/completions", chat(text))).json()) as Answer).prefill_judge;
    const together = await Promise.all(Array.from({ length: 30 }, () => ask(texts[0]!)));
    assert.deepEqual(
      together.map(({ abstained }) => abstained),
      together.map(() => null),
    );
    const sources = together.map(({ cache }) => cache);
    assert.equal(sources.filter((cache) => cache === "miss").length, 1);
    assert.ok(sources.includes("shared"));
    const filling = texts.slice(1).map(ask);
    const hit = await ask(texts[0]!);
    assert.deepEqual([hit.cache, hit.p_solve], ["hit", together[0]!.p_solve]);
    await Promise.all(filling);
  });
});
