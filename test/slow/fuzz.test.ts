// 10,000 arbitrary requests against a real server: each ends in a valid answer or a 4xx envelope, the process
// lives, and its memory stays flat.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { faultOf } from "../support/http/fuzz-answers.js";
import { type FuzzRequest, fuzzRequest } from "../support/http/fuzz-requests.js";
import { type RawAnswer, type RawClient, rawClient } from "../support/http/raw-socket.js";
import { tinyConfig } from "../support/judge-server.js";
import { isRunning, type ServeProcess, startServe } from "../support/server-process.js";
import { slope } from "../support/statistics.js";

const requests = 10_000;
const clients = 16;
const seed = Number(process.env.FUZZ_SEED ?? 20_260_731);
/** After so many requests the memory must have its size. */
const warmUp = 3000;
const sampleEvery = 500;
const maxGrowthMiB = 48;

let server: ServeProcess;
before(async () => {
  server = await startServe(tinyConfig, { env: { NODE_OPTIONS: "--max-old-space-size=128" } });
});
after(() => server.kill());

test(`${requests} arbitrary requests get a valid answer or a 4xx envelope, in flat memory`, async (context) => {
  const [encoder] = server.encoderPids();
  const started = performance.now();
  const faults = new Map<string, { count: number; first: string }>();
  const statuses = new Map<string, number>();
  const memory: { done: number; server: number; encoder: number }[] = [];
  const queue = fc.sample(fuzzRequest, { numRuns: requests, seed });
  let next = 0;

  async function client(): Promise<void> {
    const kept: { client: RawClient | null } = { client: null };
    while (next < queue.length) {
      const done = next++;
      if (done % sampleEvery === 0) {
        memory.push({ done, server: residentMiB(server.pid), encoder: residentMiB(encoder!) });
      }
      const request = queue[done]!;
      const { answer, fault } = await exchange(request, kept);
      const status = `${request.kind} ${answer?.status ?? "closed"}`;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (fault === null) continue;
      const first = faults.get(fault)?.first ?? request.bytes.toString("latin1").slice(0, 300);
      faults.set(fault, { count: (faults.get(fault)?.count ?? 0) + 1, first });
    }
    kept.client?.close();
  }
  await Promise.all(Array.from({ length: clients }, client));

  const counts = [...statuses].sort().map(([status, count]) => `${status}: ${count}`);
  const seconds = (performance.now() - started) / 1000;
  context.diagnostic(`${requests} requests in ${seconds.toFixed(1)} s (seed ${seed}): ${counts.join(", ")}`);
  assert.equal(server.alive && isRunning(encoder!), true, server.errors.slice(-1000));
  assert.deepEqual(server.encoderPids(), [encoder], "the encoder was never restarted");
  assert.equal((await fetch(`${server.url}/ready`)).status, 200);
  assert.doesNotMatch(server.errors, /"level":50|^\s+at /m);
  for (const process of ["server", "encoder"] as const) {
    const settled = memory.filter(({ done }) => done >= warmUp);
    const growth = slope(settled.map((sample) => [sample.done, sample[process]])) * (requests - warmUp);
    context.diagnostic(
      `resident memory of the ${process}: ${settled[0]![process]} MiB after ${warmUp}, ` +
        `${settled.at(-1)![process]} MiB at the end, fitted growth ${growth.toFixed(1)} MiB`,
    );
    assert.ok(growth < maxGrowthMiB, `${process}: ${growth} MiB`);
  }
  assert.deepEqual([...faults], []);
});

/** Sends on a kept connection; bytes that are nothing go on one of their own. */
async function exchange(
  request: FuzzRequest,
  kept: { client: RawClient | null },
): Promise<{ answer: RawAnswer | null; fault: string | null }> {
  const alone = request.kind === "bytes";
  const client = alone ? rawClient(server.url, { heldOpen: true }) : (kept.client ?? rawClient(server.url));
  kept.client = alone ? kept.client : client;
  try {
    await client.write(request.bytes);
    if (alone) client.socket.end();
    const answer = await client.answer({ bodiless: request.bodiless });
    if (!alone && answer?.headers.connection !== "keep-alive") drop(kept);
    return { answer, fault: faultOf(request, answer) };
  } catch (error) {
    drop(kept);
    return { answer: null, fault: String(error).slice(0, 300) };
  } finally {
    if (alone) client.close();
  }
}

function drop(kept: { client: RawClient | null }): void {
  kept.client?.close();
  kept.client = null;
}

function residentMiB(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1];
  return Math.round(Number(kilobytes) / 1024);
}
