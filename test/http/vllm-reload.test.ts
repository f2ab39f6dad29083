// A vLLM server that was changed on purpose: a reload starts anew with what it gives now.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fixturePath } from "../support/fixtures.js";
import { chat, startJudgeServer } from "../support/judge-server.js";
import { readCompletion } from "../support/verdict.js";
import { vllmFolders } from "../support/vllm/encoder.js";
import { startVllmServer } from "../support/vllm/server.js";

test("a server whose hidden states are others is down until a reload takes them as they are", async () => {
  const folders = vllmFolders();
  const vllm = await startVllmServer({ ...folders, layers: [0, 1, 2, 3] });
  const toml = `[encoders.far]
type = "vllm"
path = "${fixturePath("tiny-encoder")}"
served_model = "tiny"
base_url = "${vllm.url}"
captured_layers = [0, 1, 2, 3]
hidden_states_root = "${folders.root}"
probe_interval_ms = 20
[judges.far]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "far"
output = "weak"
max_tokens = 256
`;
  const server = await startJudgeServer(toml);
  const ask = async () => {
    const response = await server.post("/v1/chat/completions", chat("What is 7326 - 147?", { model: "far" }));
    const { verdict } = await readCompletion(response);
    return { p: verdict.p_solve, abstained: response.headers.get("x-prefill-judge-abstained") };
  };
  try {
    const before = await ask();
    assert.equal(before.abstained, null);
    vllm.layers = [1, 2, 3, 4];
    for (let round = 0; round < 500 && server.judges.registry.ready; round++) await sleep(10);
    const { reasons } = (await (await fetch(`${server.url}/ready`)).json()) as { reasons: { far: string } };
    assert.match(reasons.far, /other hidden states than the judges were tested on/);
    assert.deepEqual(await ask(), before, "what was kept was right");
    // the checkpoint has no selftest that could refuse it
    await server.reload(toml);
    const after = await ask();
    assert.equal(after.abstained, null);
    assert.ok(
      Math.abs(after.p - before.p) > 1e-4,
      "nothing that was kept is told of the other hidden states",
    );
    assert.equal((await fetch(`${server.url}/ready`)).status, 200);
  } finally {
    await server.close();
    await vllm.close();
    folders.remove();
  }
});
