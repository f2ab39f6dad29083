// GET /ready while the encoder is there and gives no answers: on both kinds of encoders, by errors and by
// silence, and under texts that nothing can read.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fixturePath } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { writePoisonable } from "../support/poisonable.js";
import { readCompletion } from "../support/verdict.js";
import { vllmFolders } from "../support/vllm/encoder.js";
import { startVllmServer, type VllmServer } from "../support/vllm/server.js";

const secret = "What is the secret of Xanadu?";
let asked = 0;

/** Asks another text each time; the reason to abstain, or null. */
async function ask(server: JudgeServer, text = secret): Promise<string | null> {
  const response = await server.post("/v1/chat/completions", chat(`${text} ${asked++}`));
  await readCompletion(response);
  return response.headers.get("x-prefill-judge-abstained");
}

const readyStatus = async ({ url }: JudgeServer) => (await fetch(`${url}/ready`)).status;

async function untilReady(server: JudgeServer, status: number, work = async () => {}): Promise<void> {
  const endsAt = performance.now() + 15_000;
  while ((await readyStatus(server)) !== status) {
    assert.ok(performance.now() < endsAt, `/ready is not ${status} in time`);
    await work();
    await sleep(20);
  }
}

const linesOf = ({ logLines }: JudgeServer, message: string) =>
  logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message);

describe("a vLLM server", () => {
  async function onVllm(deadlineMs: number, work: (server: JudgeServer, vllm: VllmServer) => Promise<void>) {
    const folders = vllmFolders();
    const vllm = await startVllmServer({ ...folders, layers: [0, 1, 2, 3] });
    const toml = `
[encoders.far]
type = "vllm"
path = "${fixturePath("tiny-encoder")}"
model = "tiny"
base_url = "${vllm.url}"
captured_layers = [0, 1, 2, 3]
hidden_states_root = "${folders.root}"
file_timeout_ms = 100
[judges.tiny]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "far"
output = "weak"
max_tokens = 256
accept_encoder = "tiny"
`;
    const server = await startJudgeServer(toml, { "--deadline-ms": String(deadlineMs) });
    try {
      assert.equal(await ask(server), null);
      await work(server, vllm);
    } finally {
      await server.close();
      await vllm.close();
      folders.remove();
    }
  }

  for (const [fault, finding] of [
    ["zeroed", /^the vLLM server's hidden states are with zeros for a token; /],
    ["never", /^the vLLM server's hidden-state file is not there after 100 ms; /],
    ["unknown model", /^the vLLM server does not know the model \(404\); /],
  ] as const) {
    test(`${fault}: not ready after a few errors, its finding in the log, ready by itself when it is over`, async () => {
      await onVllm(2000, async (server, vllm) => {
        vllm.fault = fault;
        assert.equal(await ask(server), "encoder_error");
        assert.equal(await readyStatus(server), 200);
        await untilReady(server, 503, async () => assert.equal(await ask(server), "encoder_error"));
        const ready = (await (await fetch(`${server.url}/ready`)).json()) as Record<string, unknown>;
        const reasons = ready.reasons as { tiny: string };
        assert.deepEqual(ready, { ready: false, judges: { tiny: false }, reasons });
        assert.match(`${reasons.tiny}; `, finding);
        const [silent] = linesOf(server, "judge not ready: no answers come out");
        const [first] = linesOf(server, "fault");
        for (const line of [silent, first]) {
          assert.deepEqual([line.judge, line.code], ["tiny", "encoder_error"]);
          assert.match(line.reason, finding);
        }
        vllm.fault = "none";
        // nobody asks: a load balancer has taken it out
        await untilReady(server, 200);
        assert.equal(linesOf(server, "judge ready: answers come out again").length, 1);
        assert.equal(await ask(server), null);
        assert.doesNotMatch(server.logLines.join(""), /Xanadu/);
      });
    });
  }

  test("hung: not ready after the deadline, ready by itself when it answers", async () => {
    await onVllm(300, async (server, vllm) => {
      vllm.fault = "hung";
      await untilReady(server, 503, async () => assert.equal(await ask(server), "deadline"));
      const [silent] = linesOf(server, "judge not ready: no answers come out");
      assert.match(silent.reason, /^no answer comes out within 1000 ms, not even to a text that is known$/);
      vllm.fault = "none";
      await untilReady(server, 200);
    });
  });
});

describe("an ONNX encoder", () => {
  test("a process that hangs: not ready after the deadline, ready by itself when it goes on", async () => {
    const server = await startJudgeServer(tinyConfig, { "--deadline-ms": "300" });
    try {
      assert.equal(await ask(server), null);
      const pid = server.encoderPid()!;
      process.kill(pid, "SIGSTOP");
      assert.equal(await readyStatus(server), 200);
      await untilReady(server, 503, async () => assert.equal(await ask(server), "deadline"));
      process.kill(pid, "SIGCONT");
      await untilReady(server, 200);
      assert.equal(server.encoderPid(), pid);
      assert.equal(await ask(server), null);
    } finally {
      await server.close();
    }
  });

  test("texts that it cannot read, and no others, leave it ready", async () => {
    const folder = mkdtempSync(join(tmpdir(), "judge-poisoned-"));
    writePoisonable(folder);
    const server = await startJudgeServer(tinyConfig.replace(fixturePath("tiny-encoder"), folder));
    try {
      for (let round = 0; round < 30; round++) {
        assert.equal(await ask(server, "<poison> Xanadu"), "encoder_error");
        assert.equal(await readyStatus(server), 200);
      }
      assert.equal(await ask(server), null);
      const lines = linesOf(server, "fault");
      assert.equal(lines.length, 30);
      for (const line of lines) {
        assert.equal(line.code, "encoder_error");
        assert.match(line.reason, /^the encoder failed on this text/);
      }
      assert.doesNotMatch(server.logLines.join(""), /Xanadu|poison/);
      assert.deepEqual(linesOf(server, "judge not ready: no answers come out"), []);
    } finally {
      await server.close();
      rmSync(folder, { recursive: true });
    }
  });
});
