// An encoder of two processes behind the HTTP surface: each of them is killed in turn while clients ask.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { OnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import { chat, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readCompletion } from "../support/verdict.js";
import { chatPath } from "./limits-socket.js";
import { scrape } from "./metrics-text.js";

test("every request is judged while one of two processes is killed, and the encoder counts as up", async () => {
  const server = await startJudgeServer(tinyConfig, { "--processes": "2", "--threads": "1" });
  const encoder = server.judges.encoders[0]!.encoder as OnnxEncoder;
  const logged = (message: string) => server.logLines.filter((line) => line.includes(`"${message}"`)).length;
  const of = async (name: string) => (await scrape(server.url)).get(`prefill_judge_${name}{encoder="tiny"}`);
  const ask = async (text: string) => {
    const { completion } = await readCompletion(await server.post(chatPath, chat(text)));
    return completion.prefill_judge.abstained;
  };
  try {
    const { pids } = encoder;
    assert.equal(new Set(pids).size, 2);
    for (const [round, pid] of pids.entries()) {
      const asked = Array.from({ length: 40 }, (_, index) => ask(`question ${index} of round ${round}`));
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
  } finally {
    await server.close();
  }
});
