// `npm run bench:vllm`: what a judge on a vLLM server adds to that server's own time, and how long its event
// loop is held up while many ask. The server is one without a model, so that nothing hides what is added.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { PoolingMode } from "../../src/features/pooling.js";
import { packagePath } from "../support/fixtures.js";
import { promptOfWords } from "../support/prompts.js";
import { median, type Summary, summarize } from "../support/statistics.js";
import { startChild } from "./child.js";
import { createClient, type StageTimes } from "./client.js";
import { createPromptSource, type Mix, mixes } from "./mixes.js";
import { machineLine, ms, spread, table, type Verdict, verdictLines } from "./report.js";
import { scrape } from "./scrape.js";
import { startServer } from "./server.js";
import { loadSubjects } from "./subjects.js";
import { createBareClient } from "./vllm-bare.js";
import { layer, writeCheckpoint } from "./vllm-checkpoint.js";
import type { VllmShape, VllmStart } from "./vllm-process.js";

interface Subject extends VllmShape {
  readonly pooling: PoolingMode;
}

interface Added {
  readonly subject: Subject;
  readonly mix: Mix["name"];
  readonly bareMs: Summary;
  readonly judgedMs: Summary;
  /** of each prompt judged and bare, one median per round */
  readonly addedMs: Summary;
  /** medians, as the judge's server reports them; prefill has the vLLM server's own time in it */
  readonly stagesMs: Pick<StageTimes, "tokenize" | "prefill" | "head">;
}

interface Crowd {
  readonly subject: Subject;
  readonly perSecond: Summary;
  /** event-loop delay of the judge's process, 99th percentile of each round, milliseconds */
  readonly loopDelayMs: Summary;
}

const targetMs = 5;
const loopDelayMs = 20;
/** 1,230 words are about 1,500 tokens. */
const crowd = { clients: 64, rounds: 5, prompts: 128, words: 1230 };
/** Nobody abstains because this machine is slow. */
const deadlineMs = 600_000;
const subjects: readonly Subject[] = [
  { name: "small", hiddenSize: 24, dtype: "F32", pooling: "mean" },
  { name: "mean", hiddenSize: 2048, dtype: "BF16", pooling: "mean" },
  { name: "last", hiddenSize: 2048, dtype: "BF16", pooling: "last" },
];

const folder = packagePath(".bench");
mkdirSync(folder, { recursive: true });
const work = mkdtempSync(join(tmpdir(), "vllm-bench-"));
const root = mkdtempSync("/dev/shm/vllm-bench-");
const machine = {
  cpu: cpus()[0]!.model,
  cores: availableParallelism(),
  threads: 1,
  node: process.versions.node,
  loadAverage: loadavg()[0]!,
};
const { subjects: embedded } = await loadSubjects();
const tokenized = embedded.find(({ judge }) => judge === "prefill-judge")!;

function configText(vllmPort: number): string {
  const tables = subjects.map(
    ({ name }) => `[encoders.${name}]
type = "vllm"
path = "${packagePath("checkpoints/smollm2-135m/encoder")}"
served_model = "bench"
base_url = "http://127.0.0.1:${vllmPort}/${name}/v1"
captured_layers = [${layer}]
hidden_states_root = "${root}"
file_timeout_ms = ${deadlineMs}
stale_after_ms = ${2 * deadlineMs}
[judges.${name}]
checkpoint = "${join(work, name)}"
encoder = "${name}"
output = "mistralai/Mixtral-8x7B-Instruct-v0.1"
`,
  );
  return `${tables.join("")}[runtime]\ncache_bytes = 0\n`;
}

/** Bare and judged in turn on the same prompts, never at the same time. */
async function measureAdded(
  subject: Subject,
  mix: Mix,
  { port, vllmPort }: { port: number; vllmPort: number },
): Promise<Added> {
  const bare = createBareClient(`http://127.0.0.1:${vllmPort}/${subject.name}/v1`);
  const client = createClient(port, 1);
  const take = createPromptSource(tokenized, mix, 0);
  const [bareMs, judgedMs, addedMs]: [number[], number[], number[]] = [[], [], []];
  const stages: StageTimes[] = [];
  for (let round = 0; round <= mix.rounds; round++) {
    const prompts = take(mix.alone + 1);
    // the server makes each length's file once
    for (const { ids } of prompts) await bare.prefill(ids);
    const [bareTurn, judgedTurn]: [number[], number[]] = [[], []];
    const askBare = async () => {
      for (const { ids } of prompts) bareTurn.push(await bare.prefill(ids));
    };
    const askJudge = async () => {
      for (const { text } of prompts) {
        const { clientMs, milliseconds } = await ask(client, subject, text);
        judgedTurn.push(clientMs);
        stages.push(milliseconds);
      }
    };
    for (const turn of round % 2 === 0 ? [askBare, askJudge] : [askJudge, askBare]) await turn();
    // the first round warms up, as the first prompt of each does
    if (round === 0) {
      stages.length = 0;
      continue;
    }
    bareMs.push(...bareTurn.slice(1));
    judgedMs.push(...judgedTurn.slice(1));
    addedMs.push(median(judgedTurn.slice(1).map((value, index) => value - bareTurn[index + 1]!)));
  }
  bare.close();
  client.close();
  const [bareSummary, judgedSummary, added] = [bareMs, judgedMs, addedMs].map(summarize);
  const stage = (name: keyof StageTimes) => median(stages.map((times) => times[name]));
  const stagesMs = { tokenize: stage("tokenize"), prefill: stage("prefill"), head: stage("head") };
  return {
    subject,
    mix: mix.name,
    bareMs: bareSummary!,
    judgedMs: judgedSummary!,
    addedMs: added!,
    stagesMs,
  };
}

/** Many long prompts at once. */
async function measureCrowd(subject: Subject, port: number): Promise<Crowd> {
  const client = createClient(port, crowd.clients);
  const [perSecond, delays]: [number[], number[]] = [[], []];
  for (let round = 0; round < crowd.rounds; round++) {
    let left = crowd.prompts;
    await scrape(port);
    const started = performance.now();
    const loop = async () => {
      while (left > 0) await ask(client, subject, promptOfWords(round * crowd.prompts + left--, crowd.words));
    };
    await Promise.all(Array.from({ length: crowd.clients }, loop));
    perSecond.push((1000 * crowd.prompts) / (performance.now() - started));
    delays.push(1000 * (await scrape(port)).get("nodejs_eventloop_lag_p99_seconds")!);
  }
  client.close();
  return { subject, perSecond: summarize(perSecond), loopDelayMs: summarize(delays) };
}

/** @throws Error for an abstention: then nothing was measured */
async function ask(client: ReturnType<typeof createClient>, { name }: Subject, text: string) {
  const answer = await client.ask(name, text);
  if (answer.abstained !== null) throw new Error(`${name} abstained: ${answer.abstained}`);
  return answer;
}

function say(text: string): void {
  process.stderr.write(`measuring ${text}\n`);
}

function label({ hiddenSize, dtype, pooling }: Subject): string {
  return `hidden size ${hiddenSize}, ${dtype}, ${pooling}`;
}

function report(added: readonly Added[], crowds: readonly Crowd[]): string {
  const verdicts: Verdict[] = [
    ...added.map(({ subject, mix, addedMs }) => ({
      target: `${label(subject)}, ${mix}: p50 added to the server's own time at most ${targetMs} ms`,
      met: addedMs.p50 <= targetMs,
      found: `${ms(addedMs.p50)} ms (${spread(addedMs, 2)})`,
    })),
    ...crowds.map(({ subject, loopDelayMs: delay }) => ({
      target: `${label(subject)}: event-loop delay under ${crowd.clients} clients, p99 below ${loopDelayMs} ms`,
      met: delay.p50 < loopDelayMs,
      found: `${ms(delay.p50)} ms (${spread(delay, 1)})`,
    })),
  ];
  return [
    machineLine(machine),
    "One client: bare request and whole file, against a judged chat request (p50 in ms; added: median and range of the rounds)",
    table(
      ["hidden states", "mix", "requests", "bare", "judged", "added", "range", "tokenize", "prefill", "head"],
      added.map(({ subject, mix, bareMs, judgedMs, addedMs, stagesMs }) => [
        label(subject),
        mix,
        `${bareMs.count}`,
        ...[bareMs.p50, judgedMs.p50, addedMs.p50].map(ms),
        spread(addedMs, 2),
        ...[stagesMs.tokenize, stagesMs.prefill, stagesMs.head].map(ms),
      ]),
    ),
    `${crowd.clients} clients, prompts of ${crowd.words} words (median and range of the rounds)`,
    table(
      ["hidden states", "prompts per second", "event-loop delay p99, ms", "range"],
      crowds.map(({ subject, perSecond, loopDelayMs: delay }) => [
        label(subject),
        perSecond.p50.toFixed(1),
        ms(delay.p50),
        spread(delay, 1),
      ]),
    ),
    verdictLines(verdicts),
    "",
  ].join("\n\n");
}

const vllm = startChild("vllm-process.js");
try {
  const vllmPort = await vllm.ask<number>({ root, shapes: subjects } satisfies VllmStart);
  for (const { name, hiddenSize, pooling } of subjects) {
    await writeCheckpoint(join(work, name), hiddenSize, pooling);
  }
  const configFile = join(work, "prefill-judge.toml");
  writeFileSync(configFile, configText(vllmPort));
  const logFile = join(folder, "vllm.log");
  const server = await startServer({ threads: 1, processes: 1, deadlineMs, logFile, configFile });
  try {
    const added: Added[] = [];
    const crowds: Crowd[] = [];
    // the crowds first: they leave the server as warm as one that has been up for a while
    for (const subject of subjects) {
      say(`${label(subject)}: ${crowd.clients} clients`);
      crowds.push(await measureCrowd(subject, server.port));
    }
    for (const subject of subjects) {
      for (const mix of mixes) {
        say(`${label(subject)}: ${mix.name}`);
        added.push(await measureAdded(subject, mix, { port: server.port, vllmPort }));
      }
    }
    writeFileSync(join(folder, "vllm.json"), `${JSON.stringify({ machine, added, crowds }, null, 2)}\n`);
    process.stdout.write(`\n${report(added, crowds)}`);
  } finally {
    await server.close();
  }
} finally {
  await vllm.close();
  rmSync(work, { recursive: true });
  rmSync(root, { recursive: true });
}
