// More of everything than there is room for: reloads as fast as they can be asked for, and connections on
// which nothing comes.
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startServe } from "../support/server-process.js";
import { askAlone, assertJudged } from "./answers.js";
import { describeLoad, startLoad } from "./load.js";
import { fastConfig, fastJudge, logged, somePrompts, until } from "./soaked-server.js";

const reloadEveryMs = 20;
const silentConnections = 1500;

/** A reload is asked for long before the last one can have ended; requests never notice. */
export async function stormReloads(context: TestContext, durationMs: number, seed: number): Promise<void> {
  const server = await startServe(fastConfig(10_000));
  try {
    const cases = await askAlone(server.url, fastJudge, somePrompts(12));
    const load = startLoad(server.url, { cases, clients: 6, seed });
    const end = performance.now() + durationMs;
    let asked = 0;
    for (; performance.now() < end; asked++) {
      server.signal("SIGHUP");
      await sleep(reloadEveryMs);
    }
    const outcome = await load.stop();
    const reloads = logged(server, "reloaded");
    context.diagnostic(`${asked} reloads asked for, ${reloads} made: ${describeLoad(outcome)}`);
    assert.ok(reloads > 0);
    assert.equal(logged(server, "reload failed"), 0);
    assert.deepEqual([outcome.faults, outcome.abstained], [[], {}]);
    await until(() => server.encoderPids().length === 1, "one encoder is left", 20_000);
    await assertJudged(server.url, cases);
  } finally {
    await server.kill();
  }
}

/**
 * Clients that say nothing take all places, again and again; those that ask get theirs, each on a new
 * connection.
 */
export async function fallSilent(context: TestContext, durationMs: number): Promise<void> {
  const server = await startServe(fastConfig(10_000));
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(server.url);
  const open = () => {
    const socket = connect({ host: hostname, port: Number(port) });
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  };
  try {
    const cases = await askAlone(server.url, fastJudge, somePrompts(12));
    const end = performance.now() + durationMs;
    let asked = 0;
    for (; performance.now() < end; asked++) {
      while (sockets.size < silentConnections) open();
      await sleep(50);
      const ready = await fetch(`${server.url}/ready`, { headers: { connection: "close" } });
      assert.equal(ready.status, 200);
      await ready.arrayBuffer();
      await assertJudged(server.url, [cases[asked % cases.length]!]);
    }
    context.diagnostic(`${asked} requests judged beside ${silentConnections} silent connections`);
  } finally {
    for (const socket of sockets) socket.destroy();
    await server.kill();
  }
}
