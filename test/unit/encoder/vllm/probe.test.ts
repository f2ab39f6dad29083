import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createProbe } from "../../../../src/encoder/vllm/probe.js";
import { JudgeError } from "../../../../src/errors.js";

test("a server that is overloaded when it is looked at answers: it stays up, and does not come up by it", async () => {
  const found: (JudgeError | null)[] = [];
  const told: string[] = [];
  const probe = createProbe({
    retryMs: 1,
    look: async () => {
      const error = found.shift() ?? null;
      if (error !== null) throw error;
    },
    up: () => told.push("up"),
    down: (reason) => told.push(reason),
  });
  const overloaded = new JudgeError("overloaded", { found: "ask again later" });
  try {
    await probe.start();
    found.push(overloaded);
    probe.suspect();
    await sleep(20);
    assert.deepEqual([probe.up, found.length, told], [true, 0, ["up"]]);
    found.push(new JudgeError("encoder_down", { found: "gone" }), overloaded, overloaded);
    probe.suspect();
    await sleep(50);
    assert.deepEqual([probe.up, found.length, told], [true, 0, ["up", "gone", "up"]]);
  } finally {
    probe.close();
  }
});
