// `npm run bench:peers`: this server against other ways to ask a model about a prompt, the same load for each
// in turn. A table on the terminal, everything in .bench/peers.json. Speed is reported, never asserted.
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "../../../src/train/numeric/random.js";
import { packagePath } from "../../support/fixtures.js";
import { promptOfWords } from "../../support/prompts.js";
import { settleMs } from "../child.js";
import { startServer } from "../server.js";
import { type Drive, drive } from "./drive.js";
import { type PeerKind, startPeer } from "./peer-process.js";
import { type PeersResult, type Round, renderPeers, summarizePeers, type Turn } from "./peers-report.js";
import { clients, type Subject, type SubjectId, subjects } from "./subjects.js";

const rounds = 5;
/** Words of the shortest and the longest prompt of the mix: about 15 to 140 tokens. */
const [fewestWords, mostWords] = [6, 95];
/** Nobody abstains because this machine is slow. */
const deadlineMs = 600_000;
const threads = availableParallelism();
const folder = packagePath(".bench");

interface Running {
  readonly id: SubjectId;
  readonly subject: Subject;
  readonly port: number;
}

/** The bodies of one subject's requests, no prompt of them asked before. */
function createBodies(judge: string): (count: number) => string[] {
  const random = createRandom(7);
  let variant = 0;
  return (count) =>
    Array.from({ length: count }, () => {
      const words = fewestWords + random.below(mostWords - fewestWords + 1);
      const content = promptOfWords(variant++, words);
      return JSON.stringify({ model: judge, messages: [{ role: "user", content }] });
    });
}

async function measure(running: readonly Running[]): Promise<Round[]> {
  const bodies = new Map(running.map(({ id, subject }) => [id, createBodies(subject.judge)]));
  const found: Round[] = [];
  // the first round only warms up
  for (let round = 0; round <= rounds; round++) {
    say(round === 0 ? "warm-up" : `round ${round} of ${rounds}`);
    const order = running.map((_, index) => running[(index + round) % running.length]!);
    const taken: Partial<Record<SubjectId, Turn>> = {};
    for (const { id, subject, port } of order) {
      const next = bodies.get(id)!;
      await sleep(settleMs);
      const alone = await drive(port, next(subject.alone), 1);
      const together = await drive(port, next(subject.together), clients);
      taken[id] = { alone, together, results: countResults(subject, [alone, together]) };
    }
    if (round > 0) found.push(taken);
  }
  return found;
}

function countResults({ isResult }: Subject, drives: readonly Drive[]): number {
  return drives.flatMap(({ replies }) => replies.filter(isResult)).length;
}

async function run(): Promise<PeersResult> {
  const loadAverage = loadavg()[0]!;
  const logFile = `${folder}/peers-server.log`;
  const server = await startServer({ threads, processes: 1, deadlineMs, logFile });
  const closing = [server.close];
  const running: Running[] = [];
  const leftOut: Record<string, string> = {};
  try {
    for (const id of Object.keys(subjects) as SubjectId[]) {
      const subject: Subject = subjects[id];
      const port = subject.peer === null ? server.port : await tryPeer(subject.peer);
      if (typeof port === "string") leftOut[subject.name] = port;
      else running.push({ id, subject, port });
    }
    const cores = availableParallelism();
    const machine = { cpu: cpus()[0]!.model, cores, threads, node: process.versions.node, loadAverage };
    return { machine, leftOut, ...summarizePeers(await measure(running)) };
  } finally {
    for (const close of closing) await close();
  }

  /** Its port, or why it takes no part: llama.cpp has to be built, which not every machine can. */
  async function tryPeer(kind: PeerKind): Promise<number | string> {
    say(`start of ${kind}`);
    try {
      const peer = await startPeer(kind, threads, `${folder}/peer-${kind}.log`);
      closing.push(peer.close);
      return peer.port;
    } catch (error) {
      if (kind !== "generative") throw error;
      return (error as Error).message;
    }
  }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

mkdirSync(folder, { recursive: true });
const result = await run();
writeFileSync(`${folder}/peers.json`, `${JSON.stringify(result, null, 2)}\n`);
process.stdout.write(`\n${renderPeers(result)}`);
