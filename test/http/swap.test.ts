// Judges that are replaced under load: no request fails or abstains, and each answer is whole, by the judge
// that it names.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fixturePath } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer } from "../support/judge-server.js";
import { isRunning } from "../support/server-process.js";
import { readCompletion } from "../support/verdict.js";

const folder = mkdtempSync(join(tmpdir(), "judge-swap-"));
after(() => rmSync(folder, { recursive: true }));
cpSync(fixturePath("tiny-encoder"), join(folder, "copy"), { recursive: true });
mkdirSync(join(folder, "damaged"));
for (const name of ["router.json", "router.safetensors"]) {
  const bytes = readFileSync(fixturePath(`checkpoints/router-json-v1/${name}`));
  writeFileSync(join(folder, "damaged", name), bytes.subarray(0, bytes.length - 40));
}

/** One judge `tiny`; the machine of the tests is slow at times. */
function configOf(checkpoint: string, output: string, encoder = fixturePath("tiny-encoder")): string {
  const id = encoder === fixturePath("tiny-encoder") ? "original" : "copied";
  return `
[runtime]
deadline_ms = 30000
threads = 1
[encoders.${id}]
type = "onnx"
path = "${encoder}"
[judges.tiny]
checkpoint = "${checkpoint}"
encoder = "${id}"
output = "${output}"
`;
}
const one = configOf(fixturePath("checkpoints/router-json-v1"), "weak");
const fourOutputs = fixturePath("checkpoints/router-json-v1-four-outputs");
const four = configOf(fourOutputs, "b/two");
const copied = configOf(fourOutputs, "b/two", join(folder, "copy"));
const texts = ["Solve: 1+1", "What is the capital of France?", "Prove it. ".repeat(12), "Grüße, 東京", "x"];

/** An answer, as the headers name it. */
async function ask(server: JudgeServer, text: string) {
  const response = await server.post("/v1/chat/completions", chat(text));
  const { completion } = await readCompletion(response);
  const { headers } = response;
  assert.equal(headers.get("x-prefill-judge-abstained"), null);
  const hash = headers.get("x-prefill-judge-checkpoint")!;
  const { checkpoint, encoder, p_solve: p } = completion.prefill_judge;
  assert.deepEqual([checkpoint, completion.system_fingerprint], [hash, hash]);
  assert.equal(String(p), headers.get("x-prefill-judge-p-solve"));
  return { maker: `${hash} ${encoder}`, p: p as number };
}

/** p_solve by text of every configuration, under the checkpoint and encoder that give it. */
async function references(server: JudgeServer, configs: readonly string[]) {
  const found = new Map<string, number[]>();
  for (const config of configs) {
    await server.reload(config);
    const answers = [];
    for (const text of texts) answers.push(await ask(server, text));
    found.set(
      answers[0]!.maker,
      answers.map(({ p }) => p),
    );
  }
  assert.equal(found.size, configs.length);
  return found;
}

/**
 * Ten clients that keep their connections ask 50 times a second altogether while `work` runs; answers by
 * their maker.
 */
async function underLoad(server: JudgeServer, wanted: Map<string, number[]>, work: () => Promise<void>) {
  const counts: Record<string, number> = {};
  let ended = false;
  const clients = Array.from({ length: 10 }, async (_, client) => {
    await sleep(client * 20);
    for (let round = 0; !ended; round++) {
      const rest = sleep(200);
      const index = (client + round) % texts.length;
      const { maker, p } = await ask(server, texts[index]!);
      const reference = wanted.get(maker)?.[index];
      assert.ok(reference !== undefined, `nobody is ${maker}`);
      assert.ok(Math.abs(p - reference) < 1e-5, `${maker} gave ${p}, wanted ${reference}`);
      counts[maker] = (counts[maker] ?? 0) + 1;
      await rest;
    }
  });
  const working = work().finally(() => {
    ended = true;
  });
  const outcomes = await Promise.allSettled([...clients, working]);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return counts;
}

/** The encoder processes of this one (Linux). */
function encoderPids(): number[] {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
  return children.trim().split(" ").filter(Boolean).map(Number);
}

async function withServer(work: (server: JudgeServer) => Promise<void>): Promise<void> {
  const server = await startJudgeServer(one, { "--log-level": "warn" });
  try {
    await work(server);
    assert.deepEqual(
      server.logLines.filter((line) => !line.includes("reload failed")),
      [],
    );
  } finally {
    await server.close();
  }
  assert.deepEqual(encoderPids(), []);
}

test("heads: every answer is right for the hash it names, and the encoder's process stays", (context) =>
  withServer(async (server) => {
    const wanted = await references(server, [one, four]);
    const [first, second] = [...wanted.values()] as [number[], number[]];
    assert.ok(
      first.every((p, index) => Math.abs(p - second[index]!) > 1e-3),
      "the two heads can be told apart",
    );
    const pids = encoderPids();
    assert.equal(pids.length, 1);
    let swaps = 0;
    const counts = await underLoad(server, wanted, async () => {
      const end = performance.now() + 4000;
      for (; swaps < 20 || performance.now() < end; swaps++) {
        await server.reload(swaps % 2 === 0 ? one : four);
        await sleep(15);
      }
    });
    context.diagnostic(`${swaps} swaps, answers ${Object.values(counts)}`);
    assert.equal(Object.values(counts).length, 2);
    assert.ok(Object.values(counts).every((count) => count >= 20));
    assert.deepEqual(encoderPids(), pids);
  }));

test("encoders: every answer is right for the hash it names, and each old process ends", (context) =>
  withServer(async (server) => {
    const wanted = await references(server, [copied, one]);
    const seen = new Set<number>();
    let swaps = 0;
    const counts = await underLoad(server, wanted, async () => {
      for (; swaps < 8; swaps++) {
        await server.reload(swaps % 2 === 0 ? copied : one);
        for (const pid of encoderPids()) seen.add(pid);
        await sleep(200);
      }
    });
    context.diagnostic(`${swaps} swaps, answers ${Object.values(counts)}, ${seen.size} processes`);
    assert.ok(Object.values(counts).length === 2 && Object.values(counts).every((count) => count >= 10));
    assert.ok(seen.size >= swaps);
    const now = encoderPids();
    assert.equal(now.length, 1);
    assert.deepEqual([...seen].filter(isRunning), now);
  }));

const failures: Readonly<Record<string, readonly [config: string, reason: RegExp]>> = {
  "its checkpoint is damaged": [configOf(join(folder, "damaged"), "weak"), /router\.json is not JSON/],
  "its checkpoint is missing": [configOf(join(folder, "none"), "weak"), /router\.json is missing/],
  "its encoder is missing": [configOf(fourOutputs, "b/two", join(folder, "none")), /encoder folder cannot/],
  "its output does not exist": [four.replace("b/two", "z"), /judges\.tiny\.output "z" is not an output/],
  "its text is not TOML": [`${one}[[`, /line \d+, column \d+: not TOML/],
  "it has an unknown key": [`${one}max_token = 3`, /unknown key judges\.tiny\.max_token/],
};
test("a reload that fails keeps the judges that serve, rejects, and logs its reason without a path", (context) =>
  withServer(async (server) => {
    const wanted = await references(server, [four]);
    const pids = encoderPids();
    const counts = await underLoad(server, wanted, async () => {
      for (const [name, [config, reason]] of Object.entries(failures)) {
        server.logLines.length = 0;
        await assert.rejects(server.reload(config), { name: "JudgeError", message: reason }, name);
        assert.equal(server.logLines.length, 1);
        const line = JSON.parse(server.logLines[0]!) as { msg: string; reason: string };
        assert.match(line.msg, /^reload failed/);
        assert.match(line.reason, reason);
        assert.ok(!server.logLines[0]!.includes(tmpdir()) && !line.reason.includes("/judge-"), line.reason);
        await sleep(100);
      }
    });
    context.diagnostic(`answers ${Object.values(counts)}`);
    assert.ok(Object.values(counts)[0]! >= 10);
    assert.deepEqual(encoderPids(), pids);
  }));
