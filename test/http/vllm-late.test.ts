// A judge whose vLLM server still loads: it waits, and the others serve.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fixturePath } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readCompletion } from "../support/verdict.js";
import { vllmFolders } from "../support/vllm/encoder.js";
import { startVllmServer } from "../support/vllm/server.js";

const layers = [0, 1, 2, 3];

const configOf = (url: string, root: string) => `${tinyConfig}
[encoders.far]
type = "vllm"
path = "${fixturePath("tiny-encoder")}"
served_model = "tiny"
base_url = "${url}"
captured_layers = [${layers}]
hidden_states_root = "${root}"
[judges.far]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "far"
output = "weak"
max_tokens = 256
`;

async function abstained(server: JudgeServer, model: string): Promise<string | null> {
  const response = await server.post("/v1/chat/completions", chat("What is 7326 - 147?", { model }));
  await readCompletion(response);
  return response.headers.get("x-prefill-judge-abstained");
}

test("a judge waits for a vLLM server that is not there yet, says why, and the others serve", async () => {
  const folders = vllmFolders();
  const vllm = await startVllmServer({ ...folders, layers });
  await vllm.close();
  const server = await startJudgeServer(configOf(vllm.url, folders.root));
  try {
    assert.deepEqual(
      [await abstained(server, "tiny"), await abstained(server, "far")],
      [null, "encoder_down"],
    );
    const ready = await fetch(`${server.url}/ready`);
    const reason = "the vLLM server cannot be asked: connection refused (ECONNREFUSED)";
    assert.equal(ready.status, 503);
    assert.deepEqual(await ready.json(), {
      ready: false,
      judges: { tiny: true, far: false },
      reasons: { far: reason },
    });
    const told = () => server.logLines.map((line) => JSON.parse(line) as Record<string, string>);
    const [fault] = told().filter(({ msg, judge }) => msg === "fault" && judge === "far");
    assert.ok(fault!.reason!.startsWith(reason));
    await assert.rejects(server.reload(configOf(vllm.url, folders.root)), {
      message: /^encoder far: the vLLM server cannot be asked: connection refused/,
    });
    assert.equal(await abstained(server, "tiny"), null, "the judges in service stay");
    // the reason is the present one
    const port = Number(new URL(vllm.url).port);
    const locked = await startVllmServer({ ...folders, layers, port, apiKey: "key" });
    const awaited = () => told().filter(({ msg }) => msg === "encoder awaited: its judges are not ready");
    for (let round = 0; round < 200 && awaited().length < 2; round++) await sleep(20);
    assert.match(awaited().at(-1)!.reason!, /refused the API key \(401\); set api_key_env/);
    await locked.close();
    const back = await startVllmServer({ ...folders, layers, port });
    for (let round = 0; round < 200 && !server.judges.registry.ready; round++) await sleep(20);
    assert.equal((await fetch(`${server.url}/ready`)).status, 200);
    assert.equal(await abstained(server, "far"), null);
    assert.equal(told().filter(({ msg, judge }) => msg === "judge ready" && judge === "far").length, 1);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    assert.match(metrics, /prefill_judge_encoder_server_up\{encoder="far",server="127\.0\.0\.1:\d+"\} 1/);
    await back.close();
  } finally {
    await server.close();
    folders.remove();
  }
});
