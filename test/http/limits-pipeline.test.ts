// Requests sent one behind the other, and what goes wrong after the first of them: nobody loses an answer by
// it, or gets another's.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertEnvelope, chatPath, postHead, type RawClient, rawClient } from "../support/http/raw-socket.js";
import { type JudgeServer, startJudgeServer } from "../support/judge-server.js";

const named = (request: string, id: string) => request.replace("\r\n", `\r\nX-Request-Id: ${id}\r\n`);
const health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
const body = JSON.stringify({ messages: [{ role: "user", content: "Add two and two." }] });
const chat = `${postHead(chatPath, body.length)}${body}`;
const good = named(health, "first") + named(chat, "second");

let server: JudgeServer;
before(async () => {
  server = await startJudgeServer();
});
after(() => server.close());

async function assertAnswers(client: RawClient, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const answer = await client.answer();
    assert.deepEqual([answer?.status, answer?.headers["x-request-id"]], [200, id]);
  }
}

/** What no route sees. */
const nothings: Readonly<Record<string, string>> = {
  garbage: "garbage\r\n\r\n",
  CONNECT: "CONNECT a.example:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
};

interface Fault {
  readonly bytes: string;
  /** the client sends no more */
  readonly ends?: boolean;
  readonly status: number;
  readonly code: string;
}

const chunked = named(
  postHead(chatPath, 1).replace(/Content-Length: 1/, "Transfer-Encoding: chunked"),
  "bad",
);
/** Bodies of requests that break off. */
const faults: Readonly<Record<string, Fault>> = {
  "a chunk of no size": { bytes: `${chunked}zz\r\n`, status: 400, code: "invalid_request" },
  "a body that is cut off": {
    bytes: named(postHead(chatPath, 100), "bad") + body,
    ends: true,
    status: 499,
    code: "client_gone",
  },
};
const writes = (bytes: string) =>
  [
    ["in the same write", [good + bytes]],
    ["in a write of its own", [good, bytes]],
  ] as const;

describe("is refused after the answers to the requests before it, once, and the connection ends", () => {
  for (const [name, { bytes, ends = false, status, code }] of Object.entries(faults)) {
    for (const [how, pieces] of writes(bytes)) {
      test(`${name}, ${how}`, async () => {
        const logged = server.logLines.length;
        const client = rawClient(server.url);
        for (const piece of pieces) await client.write(piece);
        if (ends) client.socket.end();
        await assertAnswers(client, ["first", "second"]);
        const refusal = await client.answer();
        assertEnvelope(refusal, status, code);
        assert.equal(refusal?.headers["x-request-id"], "bad");
        assert.equal(await client.answer(), null);
        client.close();
        await sleep(50);
        const refusals = server.logLines.slice(logged).filter((line) => line.includes('"msg":"refused"'));
        assert.deepEqual(
          refusals.map((line) => JSON.parse(line).request_id),
          [refusal?.headers["x-request-id"]],
        );
      });
    }
  }
});

describe("ends the connection after the answers that are due", () => {
  for (const [name, bytes] of Object.entries(nothings)) {
    for (const [how, pieces] of writes(bytes)) {
      test(`${name}, ${how}`, async () => {
        const client = rawClient(server.url);
        for (const piece of pieces) await client.write(piece);
        await assertAnswers(client, ["first", "second"]);
        const refusal = await client.answer();
        // refused where no answer was due any more when it came
        if (refusal !== null) {
          assert.ok([400, 405].includes(refusal.status));
          assert.equal(await client.answer(), null);
        }
        client.close();
      });
    }
  }
});

test("garbage in several writes is refused once", async () => {
  const client = rawClient(server.url);
  await client.write(good);
  await assertAnswers(client, ["first", "second"]);
  for (const piece of ["garbage\r\n\r\n", "and more\r\n\r\n"]) await client.write(piece);
  assertEnvelope(await client.answer(), 400, "invalid_request");
  assert.equal(await client.answer(), null);
  client.close();
});

test("a broken body of a request that reads none ends its connection", async () => {
  const client = rawClient(server.url);
  await client.write(`${health.replace("Host", "Transfer-Encoding: chunked\r\nHost")}zz\r\n`);
  const answer = await client.answer();
  assert.deepEqual([answer?.status, answer?.headers.connection], [200, "close"]);
  assert.equal(await client.answer(), null);
  client.close();
});

test("an offer to upgrade ends its connection: Node drops what comes behind it", async () => {
  const client = rawClient(server.url);
  await client.write(health.replace("Host", "Connection: Upgrade\r\nUpgrade: h2c\r\nHost") + health);
  const answer = await client.answer();
  assert.deepEqual([answer?.status, answer?.headers.connection], [200, "close"]);
  assert.equal(await client.answer(), null);
  client.close();
});

test("a client that resets its connection after CONNECT harms nobody", async () => {
  for (const bytes of [nothings.CONNECT!, chat + nothings.CONNECT!]) {
    for (let delayMs = 0; delayMs < 10; delayMs++) {
      const client = rawClient(server.url);
      await client.write(bytes);
      await sleep(delayMs);
      client.socket.resetAndDestroy();
      if (!client.socket.closed) await once(client.socket, "close");
    }
  }
  const client = rawClient(server.url);
  await client.write(good);
  await assertAnswers(client, ["first", "second"]);
  client.close();
});
