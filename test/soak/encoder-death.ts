// Encoder processes that die, hang, or run out of memory while clients ask.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "../../src/train/numeric/random.js";
import { promptOfWords } from "../support/prompts.js";
import { isRunning, type ServeProcess, startServe } from "../support/server-process.js";
import { askAlone, askOnce, assertJudged, checkReply, loadReasons } from "./answers.js";
import { describeLoad, startLoad } from "./load.js";
import { virtualBytes } from "./process-facts.js";
import {
  defaultJudge,
  fastConfig,
  fastJudge,
  logged,
  somePrompts,
  until,
  untilReady,
} from "./soaked-server.js";

const killEveryMs = 2000;
/** Beyond its deadline a reply may take so long on a machine that others use too. */
const slackMs = 4000;
const stoppedMs = 4000;
/** A process that does not answer for 60 s is ended; then it loads anew. */
const hangLimitMs = 90_000;

/** kill -9 every two seconds of one of two encoders: every reply is right or marked, and both come back. */
export async function killEncoders(context: TestContext, durationMs: number, seed: number): Promise<void> {
  const random = createRandom(seed);
  const server = await startServe("[runtime]\ncache_bytes = 0\n");
  try {
    const prompts = somePrompts(12);
    const cases = [
      ...(await askAlone(server.url, fastJudge, prompts)),
      ...(await askAlone(server.url, defaultJudge, prompts)),
    ];
    const load = startLoad(server.url, { cases, clients: 6, seed });
    const kills = Math.floor(durationMs / killEveryMs);
    for (let kill = 0; kill < kills; kill++) {
      await sleep(killEveryMs);
      await until(() => server.encoderPids().length > 0, "an encoder process", 20_000);
      const pids = server.encoderPids();
      process.kill(pids[random.below(pids.length)]!, "SIGKILL");
    }
    const outcome = await load.stop();
    context.diagnostic(`${kills} kills: ${describeLoad(outcome)}`);
    assert.deepEqual(outcome.faults, []);
    assert.ok(outcome.judged > kills, "it judges between the kills");
    assert.ok(server.alive);
    await until(() => logged(server, "encoder down") === kills, "every death is seen", 20_000);
    await untilReady(server);
    await assertJudged(server.url, cases);
  } finally {
    await server.kill();
  }
}

/** SIGSTOP of the encoder: requests abstain in time, and are judged again once it runs. */
export async function stopEncoder(context: TestContext, seed: number, waitsForLimit: boolean): Promise<void> {
  const deadlineMs = 1000;
  const server = await startServe(fastConfig(deadlineMs));
  try {
    const cases = await askAlone(server.url, fastJudge, somePrompts(12));
    const load = startLoad(server.url, { cases, clients: 6, seed });
    await until(() => load.judged > 20, "judged", 20_000);
    const [encoder] = server.encoderPids();
    process.kill(encoder!, "SIGSTOP");
    await sleep(stoppedMs);
    const before = load.judged;
    process.kill(encoder!, "SIGCONT");
    await until(() => load.judged > before + 20, "judged after the hang", 20_000);
    const outcome = await load.stop();
    context.diagnostic(`stopped for ${stoppedMs} ms: ${describeLoad(outcome)}`);
    assert.deepEqual(outcome.faults, []);
    const abstentions = Object.values(outcome.abstained).reduce((sum, count) => sum + count, 0);
    assert.ok(abstentions >= 6, `${abstentions} abstentions: every client waited for a stopped encoder`);
    assert.ok(outcome.slowestMs < deadlineMs + slackMs, `a reply took ${outcome.slowestMs} ms`);
    assert.deepEqual(server.encoderPids(), [encoder]);
    if (waitsForLimit) await outlastHang(context, server, encoder!);
    await assertJudged(server.url, cases);
  } finally {
    for (const pid of server.encoderPids()) process.kill(pid, "SIGKILL");
    await server.kill();
  }
}

/** An encoder that stays stopped is ended by the server itself, and replaced. */
async function outlastHang(context: TestContext, server: ServeProcess, encoder: number): Promise<void> {
  process.kill(encoder, "SIGSTOP");
  const started = performance.now();
  const prompt = promptOfWords(500, 20);
  const reason = checkReply(await askOnce(server.url, { judge: fastJudge, prompt }), null);
  assert.ok(reason !== null, "a stopped encoder judges nothing");
  await until(() => !isRunning(encoder), "the hanging encoder is ended", hangLimitMs);
  context.diagnostic(`ended for good after ${Math.round((performance.now() - started) / 1000)} s of hanging`);
  await until(() => logged(server, "encoder up") === 2, "another one is up", 20_000);
  await untilReady(server);
}

/**
 * An encoder without room for a long prompt, then one that is killed as the kernel does when memory is out.
 */
export async function starveEncoder(context: TestContext): Promise<void> {
  const server = await startServe(
    `[runtime]\ndeadline_ms = 20000\ncache_bytes = 0\n[judges.${defaultJudge}]\n`,
  );
  try {
    const long = await askAlone(server.url, defaultJudge, [promptOfWords(1, 1200)]);
    const short = await askAlone(server.url, defaultJudge, somePrompts(4));
    // a new process has not taken the room of the long prompt yet
    process.kill(server.encoderPids()[0]!, "SIGKILL");
    await until(() => logged(server, "encoder up") === 2, "restarted", 20_000);
    limitMemory(server.encoderPids()[0]!, virtualBytes(server.encoderPids()[0]!) + 2 ** 24);
    const reasons: (string | null)[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const reply = await askOnce(server.url, long[0]!);
      reasons.push(checkReply(reply, long[0]!.pSolve, [...loadReasons, "encoder_error"]));
    }
    context.diagnostic(
      `a long prompt without memory: ${reasons.map((reason) => reason ?? "judged").join(", ")}`,
    );
    assert.ok(reasons[0] !== null, "the limit was too wide to be one");
    assert.ok(server.alive);
    for (const pid of server.encoderPids()) limitMemory(pid, "unlimited");
    await untilReady(server);
    await assertJudged(server.url, [...short, ...long]);
  } finally {
    await server.kill();
  }
}

/** @param bytes of address space; the soft limit, which can be raised again */
function limitMemory(pid: number, bytes: number | "unlimited"): void {
  const { status, stderr } = spawnSync("prlimit", ["--pid", `${pid}`, `--as=${bytes}:`], {
    encoding: "utf8",
  });
  assert.equal(status, 0, `prlimit of util-linux: ${stderr}`);
}
