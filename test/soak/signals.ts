// SIGHUP again and again under load, between two configurations, and SIGTERM at the end of it.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { packagePath } from "../support/fixtures.js";
import { startServe } from "../support/server-process.js";
import { askAlone } from "./answers.js";
import { describeLoad, startLoad } from "./load.js";
import { fastConfig, fastJudge, logged, somePrompts, until } from "./soaked-server.js";

const graceMs = 10_000;

/** Every other reload takes another encoder process, the others only load the checkpoint anew. */
export async function reloadThenEnd(context: TestContext, durationMs: number, seed: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "judge-soak-"));
  const config = join(folder, "serve.toml");
  const copy = join(folder, "encoder");
  cpSync(packagePath("checkpoints/minilm-l6/encoder"), copy, { recursive: true });
  const own = `[server]\nshutdown_grace_ms = ${graceMs}\n${fastConfig(5000)}`;
  const moved = `${own}[encoders.minilm]\npath = "${copy}"\n`;
  const configurations = [own, moved, moved, own];
  writeFileSync(config, own);
  const server = await startServe("", { args: ["--config", config] });
  try {
    const cases = await askAlone(server.url, fastJudge, somePrompts(12));
    const load = startLoad(server.url, { cases, clients: 6, seed });
    const end = performance.now() + durationMs;
    let reloads = 0;
    while (performance.now() < end) {
      reloads++;
      writeFileSync(config, configurations[reloads % configurations.length]!);
      server.signal("SIGHUP");
      await until(() => logged(server, "reloaded") === reloads, `reload ${reloads}`, 30_000);
    }
    assert.equal(logged(server, "reload failed"), 0);
    await until(() => server.encoderPids().length === 1, "the encoders of older reloads have ended", 20_000);
    server.signal("SIGTERM");
    const ended = await server.ended(graceMs + 10_000);
    const outcome = await load.stop();
    context.diagnostic(`${reloads} reloads, then SIGTERM: ${describeLoad(outcome)}`);
    assert.deepEqual(ended, { code: 0, signal: null });
    assert.deepEqual(outcome.faults, []);
    assert.ok(outcome.judged > reloads, "it judges between the reloads");
    const taken = [...server.errors.matchAll(/"request_id":"(soak-\d[^"]*)"/g)].map((match) => match[1]!);
    assert.ok(taken.length >= outcome.answered.size);
    assert.deepEqual(
      taken.filter((id) => !outcome.answered.has(id)),
      [],
      "a request that was taken in was answered",
    );
    assert.ok(!server.errors.includes("client_gone"), "no request was cut");
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true });
  }
}
