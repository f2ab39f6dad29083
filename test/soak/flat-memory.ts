// Thousands of requests, nine in ten of them repeated, and the memory of server and encoder after every few
// hundred.
import assert from "node:assert/strict";
import { Agent } from "node:http";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "../../src/train/numeric/random.js";
import { promptOfWords } from "../support/prompts.js";
import { send } from "../support/server-load.js";
import { startServe } from "../support/server-process.js";
import { slope } from "../support/statistics.js";
import { askAlone, type Case, chatBody, checkReply } from "./answers.js";
import { residentBytes } from "./process-facts.js";
import { fastConfig, fastJudge } from "./soaked-server.js";

const clients = 8;
const samples = 40;
const allowedPer5000 = 1e6;
/** Collecting is asked for by a signal, and done when the process comes to it. */
const collectMs = 150;
/** A young generation of two times 16 MB takes thousands of requests to reach its size. */
const nodeOptions = "--max-semi-space-size=1";

interface Sample {
  readonly done: number;
  /** of the server: objects on the heap and what they hold outside of it */
  readonly live: number;
  readonly resident: number;
  readonly encoder: number;
}

export interface MemorySettings {
  readonly requests: number;
  /** after so many of the requests the memory must have its size */
  readonly warmUp: number;
  /** on a slow machine fewer requests are made once this is over, but twice the warm-up at least */
  readonly limitMs: number;
  readonly seed: number;
  /** what must not grow: resident memory needs 5,000 requests to settle, live memory less */
  readonly watched: "live" | "resident";
}

/** The server's memory, its garbage collected, grows by less than 1 MB per 5,000 requests. */
export async function holdMemory(context: TestContext, settings: MemorySettings): Promise<void> {
  const { requests, warmUp, limitMs, seed, watched } = settings;
  const preload = new URL("./collect-on-signal.js", import.meta.url).href;
  const env = { NODE_OPTIONS: `${nodeOptions} --import=${preload}` };
  // small, so that the cache is full before memory is measured
  const cacheBytes = 200_000;
  const server = await startServe(`[log]\nlevel = "warn"\n${fastConfig(10_000, cacheBytes)}`, { env });
  try {
    const prompts = Array.from({ length: 40 }, (_, index) => promptOfWords(index, 8 + (index % 16)));
    const known = await askAlone(server.url, fastJudge, prompts);
    const [encoder] = server.encoderPids();
    const ask = createAsker(server.url, known, seed);
    const taken: Sample[] = [];
    const started = performance.now();
    for (let sample = 1; sample <= samples; sample++) {
      const done = (sample * requests) / samples;
      await ask.many(requests / samples);
      await collect(server.pid);
      const memory = { live: await liveBytes(server.url), resident: residentBytes(server.pid) };
      taken.push({ done, ...memory, encoder: residentBytes(encoder!) });
      if (performance.now() - started > limitMs && done >= 2 * warmUp) break;
    }
    ask.close();
    const seconds = (performance.now() - started) / 1000;
    context.diagnostic(`${taken.at(-1)!.done} requests in ${seconds.toFixed(0)} s, seed ${seed}`);
    const settled = taken.filter(({ done }) => done >= warmUp);
    for (const memory of ["live", "resident", "encoder"] as const)
      context.diagnostic(describe(memory, settled));
    assert.deepEqual(server.encoderPids(), [encoder], "the encoder was never restarted");
    const growth = growthPer5000(settled, watched);
    assert.ok(growth < allowedPer5000, `${watched} memory grows by ${growth} bytes per 5,000 requests`);
  } finally {
    await server.kill();
  }
}

/** Asks by chance for a known prompt, one time in ten for a new one. */
function createAsker(url: string, known: readonly Case[], seed: number) {
  const random = createRandom(seed);
  const agents = Array.from({ length: clients }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  let next = 0;
  async function ask(agent: Agent): Promise<void> {
    const repeated = known[random.below(known.length)]!;
    const isNew = random.below(10) === 0;
    const number = next++;
    const asked = isNew ? { ...repeated, prompt: `Task ${number}. ${repeated.prompt}` } : repeated;
    const response = await send(url, agent, { id: `soak-${number}`, body: chatBody(asked) });
    const reply = { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
    assert.equal(checkReply(reply, isNew ? null : asked.pSolve, []), null);
  }
  return {
    async many(count: number): Promise<void> {
      let left = count;
      const client = async (agent: Agent) => {
        while (left-- > 0) await ask(agent);
      };
      await Promise.all(agents.map(client));
    },
    close: () => {
      for (const agent of agents) agent.destroy();
    },
  };
}

async function collect(pid: number): Promise<void> {
  process.kill(pid, "SIGUSR2");
  await sleep(collectMs);
}

async function liveBytes(url: string): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers: { connection: "close" } });
  const metrics = await response.text();
  const value = (name: string) => {
    const found = new RegExp(`^\\S*${name} (\\S+)$`, "m").exec(metrics);
    assert.ok(found !== null, `/metrics has no ${name}`);
    return Number(found[1]);
  };
  return value("nodejs_heap_size_used_bytes") + value("nodejs_external_memory_bytes");
}

type Memory = Exclude<keyof Sample, "done">;

function growthPer5000(settled: readonly Sample[], memory: Memory): number {
  return 5000 * slope(settled.map((sample) => [sample.done, sample[memory]]));
}

function describe(memory: Memory, settled: readonly Sample[]): string {
  const names = {
    live: "live memory of the server",
    resident: "resident memory of the server",
    encoder: "resident memory of the encoder",
  };
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(2);
  const sizes = settled.map((sample) => sample[memory]);
  return (
    `${names[memory]}: ${megabytes(sizes[0]!)} MB after ${settled[0]!.done} requests, ` +
    `${megabytes(sizes.at(-1)!)} at the end (${megabytes(Math.min(...sizes))} to ${megabytes(Math.max(...sizes))}), ` +
    `fitted growth ${megabytes(growthPer5000(settled, memory))} MB per 5,000`
  );
}
