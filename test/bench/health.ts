// How long /health takes while clients keep a judge busy, beside a bare HTTP server probed in the same
// seconds.
import { setTimeout as sleep } from "node:timers/promises";
import { type Summary, summarize } from "../support/statistics.js";
import { startChild } from "./child.js";
import { createClient } from "./client.js";
import type { LoadResult, LoadStart } from "./load-process.js";

const probeEveryMs = 5;
const settleMs = 500;

export interface HealthResult {
  readonly judge: string;
  readonly clients: number;
  /** milliseconds of /health */
  readonly health: Summary;
  /** milliseconds of the bare server, in the same seconds */
  readonly bare: Summary;
  readonly load: LoadResult;
}

/**
 * Probes for `seconds` under the load of `clients` parallel ones.
 *
 * Measured is the time from a probe's first byte to the last byte of its answer, one probe at a time, in a
 * process that does nothing else: it holds the server's event loop and the waiting for a core, there and
 * here, but no work of the load (another process, and a nicer one). The forward takes every core, so what the
 * bare server takes is the machine's share.
 */
export async function measureHealth(start: LoadStart, seconds: number): Promise<HealthResult> {
  const load = startChild("load-process.js");
  const bareServer = startChild("bare-server-process.js");
  const client = createClient(start.port, 1);
  const bareClient = createClient(await bareServer.ask<number>({}), 1);
  const healthMs: number[] = [];
  const bareMs: number[] = [];
  try {
    await load.ask(start);
    await sleep(settleMs);
    const until = Date.now() + seconds * 1000;
    while (Date.now() < until) {
      const probe = await client.get("/health");
      if (probe.status !== 200) throw new Error(`/health answered ${probe.status}`);
      healthMs.push(probe.milliseconds);
      await sleep(probeEveryMs);
      bareMs.push((await bareClient.get("/")).milliseconds);
      await sleep(probeEveryMs);
    }
    const result = await load.ask<LoadResult>({ stop: true });
    const { judge, clients } = start;
    return { judge, clients, health: summarize(healthMs), bare: summarize(bareMs), load: result };
  } finally {
    client.close();
    bareClient.close();
    await Promise.all([load.close(), bareServer.close()]);
  }
}
