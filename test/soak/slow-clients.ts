// Clients that write or read a byte at a time, beside others that do not: those are not held up.
import assert from "node:assert/strict";
import { connect } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { chatPath, postHead, rawClient } from "../support/http/raw-socket.js";
import { startServe } from "../support/server-process.js";
import { askAlone, assertJudged, type Case, chatBody, checkReply } from "./answers.js";
import { describeLoad, startLoad } from "./load.js";
import { fastConfig, fastJudge, somePrompts } from "./soaked-server.js";

const slowClients = 8;
const byteEveryMs = 4;
const unreadRequests = 40;
/** Far more than an answer takes: whoever passes it was held up. */
const deadlineMs = 10_000;

/**
 * For `durationMs` slow writers, slow readers and readers of far too much, then every one of the others was
 * judged.
 */
export async function slowDown(context: TestContext, durationMs: number, seed: number): Promise<void> {
  const server = await startServe(fastConfig(deadlineMs));
  try {
    const cases = await askAlone(server.url, fastJudge, somePrompts(12));
    const load = startLoad(server.url, { cases, clients: 4, seed });
    const end = performance.now() + durationMs;
    const again = async (exchange: (asked: Case) => Promise<void>, client: number) => {
      let exchanges = 0;
      do {
        await exchange(cases[client % cases.length]!);
        exchanges++;
      } while (performance.now() < end);
      return exchanges;
    };
    const clients = Array.from({ length: slowClients }, (_, client) => client);
    const [writers, readers] = await Promise.all([
      Promise.all(clients.map((client) => again((asked) => writeSlowly(server.url, asked), client))),
      Promise.all(clients.map((client) => again((asked) => readSlowly(server.url, asked), client))),
      Promise.all(clients.map(() => readTooLittle(server.url, end))),
    ]);
    const outcome = await load.stop();
    const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
    context.diagnostic(
      `${sum(writers)} requests written and ${sum(readers)} answers read a byte at a time; beside them ${describeLoad(outcome)}`,
    );
    assert.deepEqual(outcome.faults, []);
    assert.deepEqual(outcome.abstained, {}, "nobody was held up beyond the deadline");
    assert.ok(outcome.judged > slowClients);
    await assertJudged(server.url, cases);
  } finally {
    await server.kill();
  }
}

async function writeSlowly(url: string, asked: Case): Promise<void> {
  const body = chatBody(asked);
  const client = rawClient(url);
  try {
    for (const byte of Buffer.from(postHead(chatPath, Buffer.byteLength(body)) + body)) {
      await client.write(Buffer.of(byte));
      await sleep(byteEveryMs);
    }
    const reply = await client.answer({ timeoutMs: deadlineMs });
    assert.ok(reply !== null, "a slow request got no answer");
    assert.equal(checkReply(reply, asked.pSolve, []), null);
  } finally {
    client.close();
  }
}

/** Takes one byte, waits, takes the next: to the end of the whole answer, which must be the right one. */
async function readSlowly(url: string, asked: Case): Promise<void> {
  const body = chatBody(asked);
  const request = postHead(chatPath, Buffer.byteLength(body), ["Connection: close"]) + body;
  const received = Buffer.from(await takeBytes(url, request, Number.POSITIVE_INFINITY)).toString("latin1");
  const [head, json] = received.split("\r\n\r\n") as [string, string];
  const headers = Object.fromEntries(
    head
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(": ") as [string, string])
      .map(([name, value]) => [name.toLowerCase(), value]),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
  assert.equal(checkReply({ status, headers, body: json }, asked.pSolve, []), null);
}

/** Asks for megabytes, reads a few bytes of them, and leaves: the rest is the server's to hold back. */
async function readTooLittle(url: string, end: number): Promise<void> {
  const request = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(unreadRequests);
  assert.ok((await takeBytes(url, request, end)).length > 0);
}

/** The bytes that come, one at a time, until the connection ends or `end` has come. */
function takeBytes(url: string, request: string, end: number): Promise<number[]> {
  const { hostname, port } = new URL(url);
  const bytes: number[] = [];
  const buffer = Buffer.alloc(1);
  return new Promise((resolve, reject) => {
    const callback = () => {
      bytes.push(buffer[0]!);
      if (performance.now() >= end) socket.destroy();
      else setTimeout(() => socket.resume(), byteEveryMs);
      // pauses
      return false;
    };
    const socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback } });
    socket.on("error", reject);
    socket.once("close", () => resolve(bytes));
    socket.write(request);
  });
}
