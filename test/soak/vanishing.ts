// Clients that leave at every point of an exchange, without a word or with a reset. What they leave behind is
// counted.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom, type Random } from "../../src/train/numeric/random.js";
import { chatPath, postHead } from "../support/http/raw-socket.js";
import { startServe } from "../support/server-process.js";
import { askAlone, assertJudged, type Case, chatBody } from "./answers.js";
import { type OpenFiles, openFiles } from "./process-facts.js";
import { fastConfig, fastJudge, logged, somePrompts, until } from "./soaked-server.js";

const points = ["connecting", "headers", "body", "waiting", "reading"] as const;
type Point = (typeof points)[number];
const atOnce = 25;

/**
 * `count` clients vanish; then a request is judged and the server holds no file and no socket more than
 * before.
 */
export async function vanishClients(context: TestContext, count: number, seed: number): Promise<void> {
  const random = createRandom(seed);
  const server = await startServe(fastConfig(5000));
  try {
    const cases = await askAlone(server.url, fastJudge, somePrompts(12));
    const encoders = server.encoderPids();
    const before = openFiles(server.pid);
    const vanished = new Map<Point, number>();
    let started = 0;
    const client = async () => {
      while (started < count) {
        const point = points[started++ % points.length]!;
        await vanish(new URL(server.url), cases[random.below(cases.length)]!, point, random);
        vanished.set(point, (vanished.get(point) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, client));

    await assertJudged(server.url, cases);
    let now: OpenFiles = before;
    const nothingLeft = () => {
      now = openFiles(server.pid);
      return now.files <= before.files && now.sockets <= before.sockets;
    };
    await until(nothingLeft, "every file and socket is closed", 20_000);
    const list = [...vanished].map(([point, clients]) => `${clients} ${point}`).join(", ");
    context.diagnostic(
      `vanished: ${list}; open files ${before.files} before, ${now.files} after, sockets ${before.sockets} and ${now.sockets}`,
    );
    assert.ok(server.alive);
    assert.deepEqual(server.encoderPids(), encoders);
    assert.equal(logged(server, "encoder down"), 0);
    assert.doesNotMatch(server.errors, /"level":50|^\s+at /m);
  } finally {
    await server.kill();
  }
}

async function vanish(url: URL, asked: Case, point: Point, random: Random): Promise<void> {
  // the answer to eight choices in pieces of 64 bytes: one can leave in the middle of it
  const buffer = Buffer.alloc(64);
  let piecesLeft = 1 + random.below(40);
  let hasRead = () => {};
  const read = new Promise<void>((resolve) => {
    hasRead = resolve;
  });
  const socket = connect({
    host: url.hostname,
    port: Number(url.port),
    onread: {
      buffer,
      callback: () => {
        if (--piecesLeft === 0) hasRead();
        return true;
      },
    },
  });
  // a reset that crosses this one's end is no fault
  socket.on("error", () => {});
  socket.once("close", hasRead);
  if (point !== "connecting") await once(socket, "connect");
  const body = chatBody(asked, { n: 8 });
  const head = postHead(chatPath, Buffer.byteLength(body));
  if (point === "headers") socket.write(head.slice(0, 1 + random.below(head.length - 1)));
  if (point === "body") socket.write(head + body.slice(0, random.below(body.length)));
  if (point === "waiting" || point === "reading") socket.write(head + body);
  if (point === "reading") await read;
  else await sleep(random.below(30));
  await leave(socket, random.below(2) === 0);
}

async function leave(socket: Socket, resets: boolean): Promise<void> {
  if (socket.closed) return;
  const closed = once(socket, "close");
  if (resets) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}
