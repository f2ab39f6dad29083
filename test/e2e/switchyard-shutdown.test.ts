// A server that is told to end while the real Switchyard, a reqwest client with kept connections, asks it all
// the time: no user's request fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { routesToml } from "../../src/cli/routes/routes-text.js";
import { baseUrl } from "../../src/config/base-url.js";
import { startSwitchyard } from "../support/clients/switchyard-process.js";
import { parseConfig, tinyConfig } from "../support/judge-server.js";
import { startServe } from "../support/server-process.js";

test("SIGTERM under Switchyard's load: every request of a user is answered, exit code 0", async (context) => {
  const server = await startServe(tinyConfig);
  const port = Number(new URL(server.url).port);
  const router = await startSwitchyard(routesToml(parseConfig(tinyConfig), baseUrl("127.0.0.1", port)));
  let isAsking = true;
  const statuses: number[] = [];
  const clients = Array.from({ length: 10 }, async (_, client) => {
    for (let turn = 0; isAsking; turn++) {
      const { status } = await router.ask([
        { role: "user", content: `Client ${client}, task ${turn}: add the numbers.` },
      ]);
      statuses.push(status);
    }
  });
  try {
    await sleep(700);
    const before = statuses.length;
    server.signal("SIGTERM");
    // the router goes on while the server is ending; after its last answers a new instance would take over
    await sleep(300);
    const during = statuses.length - before;
    isAsking = false;
    await Promise.all(clients);
    assert.deepEqual(await server.ended(15_000), { code: 0, signal: null });
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.ok(before > 10 && during > 0, `${before} before, ${during} during the end`);
    context.diagnostic(`${before} answers before the signal, ${statuses.length - before} after it`);
  } finally {
    isAsking = false;
    await Promise.allSettled(clients);
    await router.close();
  }
});
