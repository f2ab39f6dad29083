// Large bodies together: above max_body_bytes_in_flight they are not read on, and small ones go on as ever.
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { scrape } from "../support/http/metrics-text.js";
import { chatPath, postHead, rawClient } from "../support/http/raw-socket.js";
import { type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readError } from "../support/verdict.js";

const size = 30 * 2 ** 20;
const small = JSON.stringify({ messages: [{ role: "user", content: " " }] });
const large = Buffer.from(small.padEnd(size));
const table = "[server]\nmax_body_bytes = 33554432\nmax_body_bytes_in_flight = 33554432\n";
const waits = async (server: JudgeServer) => (await scrape(server.url)).get("prefill_judge_body_waits_total");

/** A server in which one client has taken the room and sends no more. */
async function fullServer(more = "") {
  const server = await startJudgeServer(`${table}${more}${tinyConfig}`, {}, false);
  const holder = rawClient(server.url);
  await holder.write(`${postHead(chatPath, size)}{`);
  // its head has been read once a later request has its answer
  await fetch(`${server.url}/health`);
  return { server, holder };
}

describe("without room", { concurrency: 4 }, () => {
  const framings = {
    "of a size it tells": [postHead(chatPath, size), large, ""],
    "in chunks": [
      `POST ${chatPath} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n`,
      large,
      "\r\n0\r\n\r\n",
    ],
  } as const;
  for (const [name, pieces] of Object.entries(framings)) {
    test(`a large body ${name} is not read on until another has its answer; small ones are`, async () => {
      const { server, holder } = await fullServer();
      const client = rawClient(server.url);
      let isWritten = false;
      const written = (async () => {
        for (const piece of pieces) await client.write(piece);
        isWritten = true;
      })();
      for (let left = 20; (await waits(server)) === 0 && left > 0; left--)
        await fetch(`${server.url}/health`);
      assert.equal(await waits(server), 1);
      assert.equal((await server.post(chatPath, small)).status, 200);
      assert.ok(!isWritten, "its sender is kept waiting");
      holder.close();
      await written;
      assert.equal((await client.answer())?.status, 200);
      assert.equal(await waits(server), 1);
      client.close();
      await server.close();
    });
  }

  test("a large one is refused with 429 where failures are errors, after it has been sent", async () => {
    const { server, holder } = await fullServer('[runtime]\non_failure = "error"\n');
    const response = await server.post(chatPath, large.toString());
    assert.equal(response.status, 429);
    assert.equal(response.headers.get("retry-after"), "1");
    assert.equal((await readError(response)).code, "overloaded");
    holder.close();
    await server.close();
  });

  test("whoever gives up waiting leaves no trace", async () => {
    const { server, holder } = await fullServer();
    const leaver = rawClient(server.url);
    await leaver.write(postHead(chatPath, size));
    leaver.close();
    await once(leaver.socket, "close");
    holder.close();
    assert.equal((await server.post(chatPath, large.toString())).status, 200);
    await server.close();
  });
});
