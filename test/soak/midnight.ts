// A judge whose chat template prints the date, under load while a day ends: its probabilities stay what they
// were, and so does a reload's.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { clockStartsAt, datedTraining, makeDated } from "../support/dated.js";
import { packagePath } from "../support/fixtures.js";
import { startServe } from "../support/server-process.js";
import { askAlone, assertJudged } from "./answers.js";
import { describeLoad, startLoad } from "./load.js";
import { logged, somePrompts, until } from "./soaked-server.js";

const judge = "dated";
const midnight = "2026-07-01T00:00:00Z";

export async function passMidnight(context: TestContext, durationMs: number, seed: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "judge-midnight-"));
  const dated = makeDated(folder);
  const checkpoint = join(folder, "judge");
  const day = ["--chat-template-kwargs", '{"date_string": "30 Jun 2026"}'];
  const training = [packagePath("dist/src/main.js"), ...datedTraining(dated, checkpoint), ...day];
  const trained = spawnSync(process.execPath, training, { encoding: "utf8" });
  assert.equal(trained.status, 0, trained.stderr);
  const toml = `[runtime]\ndeadline_ms = 10000\ncache_bytes = 0\n[encoders.dated]\ntype = "onnx"\npath = "${dated.encoder}"\n[judges.${judge}]\ncheckpoint = "${checkpoint}"\nencoder = "dated"\n`;
  const beforeMs = durationMs / 2 + 3000;
  const start = new Date(Date.parse(midnight) - beforeMs).toISOString();
  const server = await startServe(toml, { env: clockStartsAt(start) });
  try {
    const cases = await askAlone(server.url, judge, somePrompts(12));
    const load = startLoad(server.url, { cases, clients: 4, seed });
    const lastMs = () =>
      Number(
        server.errors
          .match(/"time":\d+/g)
          ?.at(-1)
          ?.slice(7),
      );
    assert.ok(lastMs() < Date.parse(midnight), "midnight had passed before the load began");
    await until(() => lastMs() > Date.parse(midnight), "midnight", beforeMs + 20_000);
    await sleep(durationMs / 2);
    server.signal("SIGHUP");
    await until(() => logged(server, "reloaded") === 1, "the reload after midnight", 30_000);
    const outcome = await load.stop();
    context.diagnostic(`midnight has passed: ${describeLoad(outcome)}`);
    assert.deepEqual([outcome.faults, outcome.abstained], [[], {}]);
    await assertJudged(server.url, cases);
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true });
  }
}
