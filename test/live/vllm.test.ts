// Judges on a real vLLM server, through its deaths, its silence and its changes. Minutes, and 6 GB of Python:
// `npm run test:vllm-live`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { fixturePath, tinyRows } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { freePort, type LiveServer, startLive } from "./vllm-process.js";

const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "vllm-live-"));
const root = mkdtempSync("/dev/shm/vllm-live-");
const layers = [0, 1, 2, 3, 4, 5, 6, 7];
const log = join(folder, "vllm.log");
const prompts = [
  ...tinyRows().map(({ prompt }) => prompt),
  ...Array.from({ length: 40 }, (_, n) => `Task ${n}: ${"add up the numbers ".repeat(n)}`),
].slice(0, 42);
let first: LiveServer;
let ports: readonly [number, number];

before(async () => {
  ports = [await freePort(), await freePort()];
  first = await startLive({ root, layers, log, port: ports[0] });
});
after(async () => {
  await first?.stop();
  rmSync(root, { recursive: true });
  rmSync(folder, { recursive: true });
});

const encoderTable = (urls: readonly string[]) => `
[encoders.far]
type = "vllm"
path = "${fixturePath("tiny-encoder")}"
model = "tiny"
base_url = ${JSON.stringify(urls)}
captured_layers = ${JSON.stringify(layers)}
hidden_states_root = "${root}"
`;
const config = (urls: readonly string[], runtime = "cache_bytes = 0") => `${tinyConfig}
${encoderTable(urls)}
[judges.far]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "far"
output = "weak"
accept_encoder = "tiny"
max_tokens = 256
[runtime]
${runtime}
`;

async function withJudge(toml: string, work: (server: JudgeServer) => Promise<void>): Promise<void> {
  const server = await startJudgeServer(toml);
  try {
    await work(server);
  } finally {
    await server.close();
  }
}

interface Answer {
  readonly p: number | null;
  readonly abstained: string | null;
}

async function ask(server: JudgeServer, prompt: string, model = "far"): Promise<Answer> {
  const response = await server.post("/v1/chat/completions", chat(prompt, { model }));
  assert.equal(response.status, 200);
  const { prefill_judge: told } = (await response.json()) as {
    prefill_judge: { p_solve: number; abstained: string | null };
  };
  return { p: told.abstained === null ? told.p_solve : null, abstained: told.abstained };
}

async function reference(server: JudgeServer): Promise<Map<string, number>> {
  const wanted = new Map<string, number>();
  for (const prompt of prompts) wanted.set(prompt, (await ask(server, prompt, "tiny")).p!);
  return wanted;
}

async function untilReady(server: JudgeServer, isReady: boolean, seconds: number): Promise<number> {
  const started = performance.now();
  for (;;) {
    const { judges } = (await (await fetch(`${server.url}/ready`)).json()) as { judges: { far: boolean } };
    const waited = performance.now() - started;
    if (judges.far === isReady) return waited;
    assert.ok(waited < seconds * 1000, `far is ${isReady ? "not " : ""}ready after ${seconds} s`);
    await sleep(20);
  }
}

/** Asks without a pause until the time is up; when each was asked, and what came. */
async function askFor(server: JudgeServer, milliseconds: number, clients = 4) {
  const started = performance.now();
  const answers: (Answer & { atMs: number; prompt: string })[] = [];
  let n = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() - started < milliseconds) {
        const prompt = prompts[n++ % prompts.length]!;
        const atMs = performance.now() - started;
        answers.push({ atMs, prompt, ...(await ask(server, prompt)) });
      }
    }),
  );
  return answers;
}

describe("one server", () => {
  test("doctor finds all well, and the same token ids", () => {
    const file = join(folder, "far.toml");
    writeFileSync(file, config([first.url]));
    const { stdout, status } = spawnSync(process.execPath, [main, "doctor", "--config", file], {
      encoding: "utf8",
    });
    assert.equal(status, 0, stdout);
    assert.match(stdout, /server-tokens +127\.0\.0\.1:\d+: the same token ids/);
  });

  test("p_solve of 42 prompts is that of the same model in this process, within 1e-4", async (context) => {
    await withJudge(config([first.url]), async (server) => {
      const wanted = await reference(server);
      let largest = 0;
      for (const [prompt, p] of wanted) {
        largest = Math.max(largest, Math.abs((await ask(server, prompt)).p! - p));
      }
      context.diagnostic(`largest difference ${largest.toExponential(1)}`);
      assert.ok(largest <= 1e-4, `${largest}`);
    });
  });

  test("32 clients get what one gets", async () => {
    await withJudge(config([first.url], "cache_bytes = 0\ndeadline_ms = 60000"), async (server) => {
      const wanted = await reference(server);
      for (const { prompt, p } of await askFor(server, 5000, 32)) {
        assert.ok(p !== null && Math.abs(p - wanted.get(prompt)!) <= 1e-4);
      }
    });
  });

  test("cancelled requests leave nothing: the folder is empty two seconds after the last", async (context) => {
    await withJudge(config([first.url]), async (server) => {
      const controllers = Array.from({ length: 99 }, () => new AbortController());
      const asked = controllers.map(({ signal }, n) =>
        fetch(`${server.url}/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(chat(`${n} ${prompts[n % prompts.length]}`, { model: "far" })),
          signal,
        }).then(
          (response) => response.text().then(() => "answered"),
          () => "left",
        ),
      );
      for (const [n, controller] of controllers.entries()) setTimeout(() => controller.abort(), 5 + 8 * n);
      const outcomes = await Promise.all(asked);
      context.diagnostic(`${outcomes.filter((outcome) => outcome === "left").length} of 99 left`);
      await sleep(2000);
      assert.deepEqual(readdirSync(root), []);
    });
  });

  test("train, evaluate and sweep run on it, without a judge of the configuration", () => {
    const file = join(folder, "encoder.toml");
    writeFileSync(file, encoderTable([first.url]));
    const labels = join(folder, "labels.jsonl");
    const rows = Array.from({ length: 240 }, (_, n) => ({
      id: `${n}`,
      prompt: n % 3 === 0 ? `Add ${n} and ${n * 7}.` : `Write a poem about the number ${n}.`,
      labels: { weak: n % 3 === 0 },
      split: n % 4 === 0 ? "test" : "train",
    }));
    writeFileSync(labels, rows.map((row) => JSON.stringify(row)).join("\n"));
    const out = join(folder, "own");
    const usual = ["--config", file, "--labels", labels, "--encoder", "far"];
    const cache = ["--cache", join(folder, "cache")];
    for (const command of [
      ["train", ...usual, ...cache, "--layer", "3", "--pca", "8", "--out", out],
      ["sweep", ...usual, ...cache, "--pca", "8"],
      ["evaluate", ...usual, "--split", "test", "--checkpoint", out],
    ]) {
      const { stderr, status } = spawnSync(process.execPath, [main, ...command], { encoding: "utf8" });
      assert.equal(status, 0, `${command[0]}: ${stderr}`);
    }
    assert.deepEqual(readdirSync(root), []);
  });

  for (const name of ["SIGTERM", "SIGKILL"] as const) {
    test(`${name}: requests abstain until it is there again, then p is what it was`, async (context) => {
      await withJudge(config([first.url]), async (server) => {
        const wanted = await ask(server, prompts[3]!);
        const asking = askFor(server, 3000);
        await sleep(500);
        await first.stop(name);
        const outcomes = new Set((await asking).map(({ abstained }) => abstained));
        assert.ok(outcomes.has(null) && outcomes.has("encoder_down"), [...outcomes].join());
        await untilReady(server, false, 15);
        first = await startLive({ root, layers, log, port: ports[0] });
        context.diagnostic(`ready ${Math.round(await untilReady(server, true, 15))} ms after the server`);
        assert.deepEqual(await ask(server, prompts[3]!), wanted);
      });
    });
  }

  test("SIGSTOP: not ready before long, and ready by itself when it goes on", async () => {
    await withJudge(config([first.url]), async (server) => {
      first.signal("SIGSTOP");
      try {
        for (let n = 0; n < 4; n++) assert.notEqual((await ask(server, prompts[n]!)).abstained, null);
        await untilReady(server, false, 20);
      } finally {
        first.signal("SIGCONT");
      }
      await untilReady(server, true, 20);
      assert.equal((await ask(server, prompts[0]!)).abstained, null);
    });
  });

  test("a judge waits for a server that still loads, while others serve", async () => {
    const port = await freePort();
    await withJudge(config([`http://127.0.0.1:${port}/v1`]), async (server) => {
      assert.equal((await ask(server, prompts[0]!, "tiny")).abstained, null);
      assert.equal((await ask(server, prompts[0]!)).abstained, "encoder_down");
      const late = await startLive({ root, layers, log, port });
      try {
        await untilReady(server, true, 20);
        assert.equal((await ask(server, prompts[0]!)).abstained, null);
      } finally {
        await late.stop();
      }
    });
  });
});

describe("two servers", () => {
  test("one that hangs: 95 of 100 of the next 24 s are judged, after the first second all", async (context) => {
    const second = await startLive({ root, layers, log, port: ports[1] });
    try {
      await withJudge(config([first.url, second.url]), async (server) => {
        const wanted = await reference(server);
        await ask(server, prompts[0]!);
        await sleep(3000);
        first.signal("SIGSTOP");
        const answers = await askFor(server, 24_000);
        const judged = answers.filter(({ p }) => p !== null);
        const late = answers.filter(({ atMs, p }) => atMs > 1000 && p === null);
        context.diagnostic(
          `${judged.length} of ${answers.length} judged, ${late.length} not after the first second`,
        );
        for (const { prompt, p } of judged) assert.ok(Math.abs(p! - wanted.get(prompt)!) <= 1e-4);
        assert.ok(judged.length >= 0.95 * answers.length && late.length === 0);
        assert.match(
          server.logLines.join(""),
          /"server":"127\.0\.0\.1:\d+","reason":"the vLLM server gave no reply/,
        );
      });
    } finally {
      first.signal("SIGCONT");
      await second.stop();
    }
  });
});

describe("other settings", () => {
  test("after a change of layers no wrong p leaves: nothing is judged, and the log says why", async () => {
    const other = layers.map((layer) => layer + 1);
    await withJudge(config([first.url], "cache_bytes = 1000000"), async (server) => {
      const kept = await ask(server, prompts[0]!);
      await first.stop();
      first = await startLive({ root, layers: other, log, port: ports[0] });
      const answers = await askFor(server, 5000);
      assert.ok(answers.length > 0);
      for (const { prompt, p } of answers) {
        // what was kept was right
        if (prompt === prompts[0]) assert.ok(p === null || p === kept.p);
        else assert.equal(p, null);
      }
      await untilReady(server, false, 5);
      const reasons = server.logLines.join("");
      assert.match(reasons, /other hidden states than the judges were tested on/);
      await first.stop();
      first = await startLive({ root, layers, log, port: ports[0] });
      await untilReady(server, true, 30);
      assert.equal((await ask(server, prompts[5]!)).abstained, null);
    });
  });

  test("bfloat16: what it moves p by", async (context) => {
    const half = await startLive({ root, layers, dtype: "bfloat16", log, port: ports[1] });
    try {
      const file = join(folder, "half.toml");
      writeFileSync(file, config([half.url]));
      const { stdout } = spawnSync(process.execPath, [main, "doctor", "--config", file], {
        encoding: "utf8",
      });
      for (const line of stdout.split("\n").filter((each) => /selftest|threshold/.test(each))) {
        context.diagnostic(line);
      }
      await withJudge(config([half.url]), async (server) => {
        const wanted = await reference(server);
        const differences: number[] = [];
        for (const [prompt, p] of wanted) differences.push(Math.abs((await ask(server, prompt)).p! - p));
        differences.sort((a, b) => a - b);
        context.diagnostic(
          `median ${differences[21]!.toExponential(1)}, largest ${differences.at(-1)!.toExponential(1)}`,
        );
        assert.ok(differences.at(-1)! <= 0.03);
      });
    } finally {
      await half.stop();
    }
  });
});
