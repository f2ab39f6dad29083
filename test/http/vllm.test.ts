// A judge whose encoder runs behind a vLLM server, served like any other: the same answers as on the encoder
// here, an abstention while the server is away, and nothing of a text in the log.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fixturePath, tinyRows } from "../support/fixtures.js";
import { startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { until, vllmFolders } from "../support/vllm/encoder.js";
import { startVllmServer } from "../support/vllm/server.js";

interface Scores {
  readonly results: readonly { readonly p_solve: number | null; readonly abstained: string | null }[];
}

test("a judge on a vLLM server scores as on the encoder here, abstains while it is away, and comes back", async () => {
  const folders = vllmFolders();
  const layers = [3, 2, 1, 0];
  const first = await startVllmServer({ ...folders, layers });
  const port = Number(new URL(first.url).port);
  const server = await startJudgeServer(`${tinyConfig}
[encoders.far]
type = "vllm"
path = "${fixturePath("tiny-encoder")}"
served_model = "tiny"
base_url = ["${first.url}"]
captured_layers = [${layers}]
hidden_states_root = "${folders.root}"
retry_ms = 30
[judges.far]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "far"
output = "weak"
max_tokens = 256
[runtime]
cache_bytes = 0
`);
  const score = async (model: string, prompts: readonly string[]) => {
    const response = await server.post("/v1/score", { model, prompts });
    assert.equal(response.status, 200);
    return ((await response.json()) as Scores).results;
  };
  const ready = async () => (await fetch(`${server.url}/ready`)).status;
  try {
    const prompts = tinyRows().map((row) => row.prompt);
    const [here, far] = [await score("tiny", prompts), await score("far", prompts)];
    far.forEach(({ p_solve, abstained }, index) => {
      assert.equal(abstained, null);
      assert.ok(Math.abs(p_solve! - here[index]!.p_solve!) <= 1e-5, `prompt ${index}`);
    });
    assert.equal(await ready(), 200);

    await first.close();
    assert.equal((await score("far", ["secret question"]))[0]!.abstained, "encoder_down");
    await until(() => server.logLines.some((line) => line.includes("encoder down")), "the fall is logged");
    assert.equal(await ready(), 503);
    const second = await startVllmServer({ ...folders, layers, port });
    try {
      const ups = () => server.logLines.filter((line) => /"encoder":"far".*encoder up/.test(line)).length;
      await until(() => ups() === 2, "the return is logged");
      assert.equal(await ready(), 200);
      assert.equal((await score("far", [prompts[0]!]))[0]!.p_solve, far[0]!.p_solve);
    } finally {
      await second.close();
    }
    assert.doesNotMatch(server.logLines.join(""), /secret question/);
  } finally {
    await server.close();
    await first.close();
    folders.remove();
  }
});
