// `npm run bench`: every promised number in one run, as tables on the terminal, .bench/bench.json and
// .bench/bench.svg. Speed is reported, never asserted; wrong answers end it with exit code 1.
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { packagePath } from "../support/fixtures.js";
import { summarize } from "../support/statistics.js";
import { type CachedResult, measureCached } from "./cached.js";
import { renderChart } from "./chart.js";
import { type HealthResult, measureHealth } from "./health.js";
import { type LatencyResult, measureLatency } from "./latency.js";
import { residentMemory } from "./memory.js";
import { mixes } from "./mixes.js";
import { askAll, comparePSolve, type ParallelResult } from "./parallel.js";
import { type BenchResult, renderReport } from "./report.js";
import { type RunningServer, type ServerSettings, startServer } from "./server.js";
import { loadSubjects } from "./subjects.js";
import { judgeTargets, pSolveDifference } from "./targets.js";
import { measureThroughput, type ThroughputResult, warmUp } from "./throughput.js";

const clients = 20;
const healthSeconds = 5;
/** Starts that are only measured; two more serve the other measurements. */
const bareStarts = 4;
/** Requests by judge before anything is measured. */
const warmUps: Readonly<Record<string, number>> = { "prefill-judge": 200, "prefill-judge-fast": 3000 };
/** Nobody abstains because this machine is slow. */
const deadlineMs = 600_000;

const folder = packagePath(".bench");
const { subjects, threads } = await loadSubjects();
const readyMs: number[] = [];

async function withStarted<T>(
  settings: Pick<ServerSettings, "threads" | "processes">,
  logName: string,
  use: (server: RunningServer) => Promise<T>,
): Promise<T> {
  const server = await startServer({ ...settings, deadlineMs, logFile: `${folder}/${logName}.log` });
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

function withServer<T>(use: (port: number, pid: number) => Promise<T>): Promise<T> {
  return withStarted({ threads, processes: 1 }, "server", (server) => {
    readyMs.push(server.readyMs);
    return use(server.port, server.pid);
  });
}

/** A server whose encoders have a process for each thread. */
function withProcesses<T>(use: (port: number) => Promise<T>): Promise<T> {
  return withStarted({ threads: 1, processes: threads }, "processes", ({ port }) => use(port));
}

/**
 * p_solve by judge. Alone and together are asked of two server processes: what one remembers helps no other.
 */
async function askEveryJudge(port: number, atOnce: number): Promise<(number | null)[][]> {
  const answers: (number | null)[][] = [];
  for (const { judge } of subjects) answers.push(await askAll(port, judge, { clients, atOnce }));
  return answers;
}

interface Running {
  readonly port: number;
  readonly pid: number;
  /** of the server with a process for each thread */
  readonly processesPort: number;
}

async function measure(): Promise<Omit<BenchResult, "verdicts">> {
  const loadAverage = loadavg()[0]!;
  const machine = {
    cpu: cpus()[0]!.model,
    cores: availableParallelism(),
    threads,
    node: process.versions.node,
    loadAverage,
  };
  say("starts");
  for (let start = 0; start < bareStarts; start++) await withServer(async () => {});
  say("clients alone and together");
  const alone = await withServer((port) => askEveryJudge(port, 1));
  const running = await withProcesses((processesPort) =>
    withServer((port, pid) => measureRunning({ port, pid, processesPort }, alone)),
  );
  return { machine, ...running, readyMs: summarize(readyMs) };
}

async function measureRunning({ port, pid, processesPort }: Running, alone: (number | null)[][]) {
  const together = await askEveryJudge(port, clients);
  const parallel: ParallelResult[] = subjects.map(({ judge }, index) =>
    comparePSolve(judge, alone[index]!, together[index]!),
  );
  say("nothing: the servers get as warm as those that have been up for a while");
  for (const server of [port, processesPort]) {
    for (const { judge } of subjects) await warmUp(server, judge, warmUps[judge] ?? 0);
  }
  const latency: LatencyResult[] = [];
  const health: HealthResult[] = [];
  const throughput: ThroughputResult[] = [];
  const cached: CachedResult[] = [];
  for (const subject of subjects) {
    const { judge } = subject;
    say(`${judge}: latency`);
    latency.push(...(await measureLatency(subject, port, threads)));
    for (const mix of mixes) {
      say(`${judge}: throughput, ${mix.name}`);
      throughput.push(await measureThroughput(subject, mix, { port, processesPort, threads }));
    }
    say(`${judge}: cached`);
    cached.push(await measureCached(judge, port));
    say(`${judge}: /health under load`);
    health.push(await measureHealth({ port, judge, clients }, healthSeconds));
  }
  return { latency, throughput, cached, health, parallel, memory: residentMemory(pid) };
}

function say(text: string): void {
  process.stderr.write(`measuring ${text}\n`);
}

mkdirSync(folder, { recursive: true });
const measured = await measure();
const result: BenchResult = { ...measured, verdicts: judgeTargets(measured) };
writeFileSync(`${folder}/bench.json`, `${JSON.stringify(result, null, 2)}\n`);
writeFileSync(`${folder}/bench.svg`, renderChart(result));
process.stdout.write(`\n${renderReport(result)}`);

const abstentions = [
  ...result.latency.map((entry) => entry.abstentions),
  ...result.throughput.map((entry) => entry.abstentions),
  ...result.health.map((entry) => entry.load.abstentions),
  ...result.parallel.map((entry) => entry.abstentions),
].reduce((sum, count) => sum + count, 0);
const differs = result.parallel.some((entry) => !(entry.largestDifference <= pSolveDifference));
if (abstentions > 0 || differs) {
  process.stderr.write(`answers are wrong: ${abstentions} abstentions, p_solve differs: ${differs}\n`);
  process.exitCode = 1;
}
