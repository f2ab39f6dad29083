// Log and metrics are told of what happens from timers and events: nothing they are told, and no fault of
// theirs, throws.
import assert from "node:assert/strict";
import { test } from "node:test";
import { harmless } from "../../../src/observe/harmless.js";
import { createLog } from "../../../src/observe/log.js";
import { createMetrics, type JudgedSample } from "../../../src/observe/metrics.js";

const sample: JudgedSample = {
  judge: "judge",
  pSolve: 0.5,
  abstained: null,
  tokens: 3,
  truncated: false,
  cache: "miss",
  milliseconds: { queue: 0, tokenize: 0, prefill: 1, head: 0 },
};

test("a function that throws is called and does not throw", () => {
  const told: unknown[] = [];
  const { tell } = harmless({
    tell(entry: number) {
      told.push(entry);
      throw new Error("no room");
    },
  });
  tell(5);
  assert.deepEqual(told, [5]);
});

test("metrics take what is no number without an exception, and go on counting", async () => {
  const metrics = createMetrics();
  metrics.judged({ ...sample, pSolve: Number.NaN });
  metrics.judged({ ...sample, milliseconds: { ...sample.milliseconds, prefill: Number.NaN } });
  metrics.request("chat", "judged", 200, Number.NaN);
  metrics.judged(sample);
  assert.match(await metrics.render(), /prefill_judge_p_solve_count\{judge="judge"\} 2\n/);
});

test("a log whose target fails loses its lines and nothing else", () => {
  let tried = 0;
  const target = {
    write() {
      tried++;
      throw new Error("the terminal is gone");
    },
  };
  const log = createLog(target, "info");
  log.judged({ ...sample, requestId: "r", totalMs: 1 });
  log.reloaded({ judges: {} });
  assert.equal(tried, 2);
});
