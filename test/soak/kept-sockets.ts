// Few clients that keep their connection, ask in bursts, and are silent in between.
import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "../../src/train/numeric/random.js";
import { chatPath } from "../support/http/raw-socket.js";
import { startServe } from "../support/server-process.js";
import { askAlone, type Case, chatBody, checkReply, type Reply } from "./answers.js";
import { fastConfig, fastJudge, somePrompts } from "./soaked-server.js";

const clients = 4;
/** Switchyard and LiteLLM keep a socket for 90 s; longer gaps are not theirs. */
const longestGapMs = 60_000;

/** Every request of a client goes over its one socket, however long it was idle. */
export async function keepSockets(context: TestContext, durationMs: number, seed: number): Promise<void> {
  const server = await startServe(fastConfig(10_000));
  try {
    const cases = await askAlone(server.url, fastJudge, somePrompts(12));
    const end = performance.now() + durationMs;
    const gapLimitMs = Math.min(longestGapMs, durationMs / 3);
    let requests = 0;
    const client = async (number: number) => {
      const random = createRandom(seed + number);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const sockets = new Set<Socket>();
      do {
        for (let burst = 1 + random.below(20); burst > 0; burst--) {
          const asked = cases[random.below(cases.length)]!;
          assert.equal(checkReply(await ask(server.url, agent, sockets, asked), asked.pSolve, []), null);
          requests++;
        }
        // a minute of silence is rarer than a second of it
        await sleep(gapLimitMs * random.uniform() ** 2);
      } while (performance.now() < end);
      agent.destroy();
      return sockets.size;
    };
    const sockets = await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
    context.diagnostic(`${requests} requests over ${clients} sockets, idle up to ${gapLimitMs / 1000} s`);
    assert.deepEqual(sockets, Array(clients).fill(1), "sockets by client");
  } finally {
    await server.kill();
  }
}

function ask(url: string, agent: Agent, sockets: Set<Socket>, asked: Case): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", agent, headers: { "content-type": "application/json" } };
    const sent = request(`${url}${chatPath}`, options, async (response) => {
      const { statusCode = 0, headers } = response;
      resolve({ status: statusCode, headers, body: await text(response) });
    });
    sent.once("socket", (socket) => sockets.add(socket));
    sent.once("error", reject);
    sent.end(chatBody(asked));
  });
}
