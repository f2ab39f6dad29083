// What a client of the judge gets while its vLLM server does something wrong: an abstention within the
// deadline, or the HTTP error that `on_failure` wants. Nothing is left of the request, and its place is free
// for the next.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { fixturePath } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readCompletion, readError } from "../support/verdict.js";
import { openFileCount, until, vllmFolders } from "../support/vllm/encoder.js";
import { faults, isLeftBehind, timeoutMs } from "../support/vllm/faults.js";
import { startVllmServer, type VllmServer } from "../support/vllm/server.js";

const layers = [3, 2, 1, 0];
const secret = "What is the secret of Xanadu?";
let asked = 0;

interface Subject {
  readonly server: JudgeServer;
  readonly vllm: VllmServer;
  readonly root: string;
}

/** A judge `far` with one place for a request. */
async function withFar(
  settings: { encoder: string; runtime: string },
  work: (subject: Subject) => Promise<void>,
): Promise<void> {
  const folders = vllmFolders();
  const vllm = await startVllmServer({ ...folders, layers });
  const server = await startJudgeServer(`${tinyConfig}
[encoders.far]
type = "vllm"
path = "${fixturePath("tiny-encoder")}"
served_model = "tiny"
base_url = "${vllm.url}"
captured_layers = [${layers}]
hidden_states_root = "${folders.root}"
retry_ms = 20
max_in_flight = 1
${settings.encoder}
[judges.far]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "far"
output = "weak"
max_tokens = 256
[runtime]
cache_bytes = 0
${settings.runtime}
`);
  try {
    await work({ server, vllm, root: folders.root });
  } finally {
    await server.close();
    await vllm.close();
    folders.remove();
  }
}

/** Another text each time. */
const ask = (server: JudgeServer) =>
  server.post("/v1/chat/completions", chat(`${secret} ${asked++}`, { model: "far" }));

async function isJudged(server: JudgeServer): Promise<boolean> {
  const response = await ask(server);
  await readCompletion(response);
  return response.headers.get("x-prefill-judge-abstained") === null;
}

async function untilJudged(server: JudgeServer): Promise<void> {
  const endsAt = performance.now() + 5000;
  while (!(await isJudged(server))) assert.ok(performance.now() < endsAt, "judged again");
}

describe("each fault", () => {
  const deadlineMs = 2000;
  const encoder = `request_timeout_ms = ${timeoutMs}\nfile_timeout_ms = ${timeoutMs}`;
  const runtime = `deadline_ms = ${deadlineMs}`;
  test("ends in an abstention before the deadline, and the next request is judged", async (context) => {
    await withFar({ encoder, runtime }, async ({ server, vllm, root }) => {
      await untilJudged(server);
      const openBefore = openFileCount();
      let slowest = 0;
      for (const [fault, code] of faults) {
        vllm.fault = fault;
        const left = readdirSync(root);
        const started = performance.now();
        const response = await ask(server);
        const { verdict } = await readCompletion(response);
        slowest = Math.max(slowest, performance.now() - started);
        assert.equal(response.headers.get("x-prefill-judge-abstained"), code, fault);
        assert.deepEqual([verdict.primary_rule, verdict.p_solve], ["none", 0]);
        const added = () => readdirSync(root).filter((name) => !left.includes(name));
        vllm.fault = "none";
        await untilJudged(server);
        // looks whether a server is there again leave what the fault made them leave, too
        if (code !== "encoder_down") await until(() => isLeftBehind(fault, added()), `${fault}: the folder`);
        await until(() => vllm.load.now === 0, `${fault}: no request is under way`);
        await until(() => openFileCount() <= openBefore, `${fault}: its files are closed`);
      }
      context.diagnostic(`slowest abstention ${slowest.toFixed(0)} ms`);
      assert.ok(slowest < deadlineMs);
      assert.doesNotMatch(server.logLines.join(""), /secret|Xanadu/);
    });
  });
});

describe("a server that takes longer than the deadline", () => {
  const deadlineMs = 200;
  const encoder = "request_timeout_ms = 60000\nfile_timeout_ms = 60000";
  for (const fault of ["hung", "half a reply", "never", "partial"] as const) {
    test(`${fault}: abstains at the deadline and lets go`, async () => {
      const runtime = `deadline_ms = ${deadlineMs}`;
      await withFar({ encoder, runtime }, async ({ server, vllm, root }) => {
        await untilJudged(server);
        const openBefore = openFileCount();
        vllm.fault = fault;
        const started = performance.now();
        const response = await ask(server);
        assert.equal(response.headers.get("x-prefill-judge-abstained"), "deadline");
        await readCompletion(response);
        assert.ok(performance.now() - started < deadlineMs + 300, "in time");
        await until(() => vllm.load.now === 0, "no request is under way");
        await until(() => readdirSync(root).length === 0, "the folder is empty");
        await until(() => openFileCount() <= openBefore, "its files are closed");
        vllm.fault = "none";
        await untilJudged(server);
      });
    });
  }
});

test('on_failure = "error": each kind of fault has its status', async () => {
  const encoder = "request_timeout_ms = 60000\nfile_timeout_ms = 150";
  await withFar({ encoder, runtime: 'deadline_ms = 400\non_failure = "error"' }, async ({ server, vllm }) => {
    for (const [fault, status, code] of [
      ["too long", 503, "encoder_error"],
      ["unknown model", 503, "encoder_error"],
      ["zeroed", 503, "encoder_error"],
      ["429", 429, "overloaded"],
      ["hung", 504, "deadline"],
      ["500", 503, "encoder_down"],
    ] as const) {
      vllm.fault = fault;
      const response = await ask(server);
      assert.equal(response.status, status, fault);
      const error = await readError(response);
      assert.equal(error.code, code, fault);
      assert.doesNotMatch(error.message, /secret|Xanadu|nope|\/tmp\//);
    }
  });
});
