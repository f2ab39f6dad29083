// An encoder of two processes behind the HTTP surface: each of them is killed in turn while clients ask.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { OnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import { scrape } from "../support/http/metrics-text.js";
import { chatPath } from "../support/http/raw-socket.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readCompletion } from "../support/verdict.js";

/** Why a request abstained; null: it was judged. */
async function ask(server: JudgeServer, text: string): Promise<unknown> {
  const { completion } = await readCompletion(await server.post(chatPath, chat(text)));
  return completion.prefill_judge.abstained;
}

test("every request is judged while one of two processes is killed, and the encoder counts as up", async () => {
  const server = await startJudgeServer(tinyConfig, { "--processes": "2", "--threads": "1" });
  const encoder = server.judges.encoders[0]!.encoder as OnnxEncoder;
  const logged = (message: string) => server.logLines.filter((line) => line.includes(`"${message}"`)).length;
  const of = async (name: string) => (await scrape(server.url)).get(`prefill_judge_${name}{encoder="tiny"}`);
  try {
    const { pids } = encoder;
    assert.equal(new Set(pids).size, 2);
    for (const [round, pid] of pids.entries()) {
      const asked = Array.from({ length: 40 }, (_, index) =>
        ask(server, `question ${index} of round ${round}`),
      );
      process.kill(pid, "SIGKILL");
      assert.deepEqual(new Set(await Promise.all(asked)), new Set([null]));
      const end = performance.now() + 20_000;
      while (logged("encoder down") === round && performance.now() < end) await sleep(2);
      assert.equal(await of("encoder_up"), 1);
      // two at the start, one for each that was replaced
      while (logged("encoder up") < 3 + round && performance.now() < end) await sleep(5);
      assert.equal(new Set([...encoder.pids, pid]).size, 3, "the process was not replaced");
    }
    assert.equal(await of("encoder_restarts_total"), 2);
    const told = server.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const processesOf = (msg: string) => told.filter((line) => line.msg === msg).map((line) => line.process);
    assert.deepEqual(processesOf("encoder up").toSorted(), [1, 1, 2, 2]);
    assert.deepEqual(processesOf("encoder down").toSorted(), [1, 2]);
    assert.ok(told.every(({ load_ms: loadMs = 1 }) => (loadMs as number) > 0));
  } finally {
    await server.close();
  }
});

test("a process that comes back takes what waits, however long another stays away", async () => {
  const config = `[runtime]\nmax_batch = 1\n${tinyConfig}`;
  const server = await startJudgeServer(config, {
    "--processes": "2",
    "--threads": "1",
    "--deadline-ms": "60000",
  });
  const encoder = server.judges.encoders[0]!.encoder as OnnxEncoder;
  const downs = () =>
    server.logLines
      .map((line) => JSON.parse(line) as { msg: string; retry_ms: number })
      .filter(({ msg }) => msg === "encoder down");
  try {
    const [, steady] = encoder.pids;
    // the first one comes to its third restart, before which it waits for three seconds
    while ((downs().at(-1)?.retry_ms ?? 0) < 1000) {
      const unsteady = encoder.pids.find((pid) => pid !== steady);
      if (unsteady !== undefined) process.kill(unsteady, "SIGKILL");
      await sleep(5);
    }
    const downsBefore = downs().length;
    let answered = 0;
    const asked = Array.from({ length: 60 }, (_, index) =>
      ask(server, `question ${index}: ${"some words ".repeat(60)}`).finally(() => answered++),
    );
    // by then the others are there as well
    while (answered < 5) await sleep(1);
    process.kill(steady!, "SIGKILL");
    while (downs().length === downsBefore) await sleep(1);
    const answeredBefore = answered;
    const answers = await Promise.all(asked);
    const judged = answers.filter((reason) => reason === null).length;
    assert.ok(
      answers.every((reason) => reason === null || reason === "encoder_down"),
      `${answers}`,
    );
    assert.ok(judged > answeredBefore + 5, "what waited was judged by the process that came back");
    assert.ok(encoder.up);
  } finally {
    await server.close();
  }
});
