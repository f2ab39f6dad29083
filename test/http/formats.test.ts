// One judge of every format in one process, on the tiny encoder: /v1/score gives every output what the head
// makes of the encoder's reference values.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { pooledKey } from "../../src/features/pooled.js";
import { probabilities } from "../../src/head/head.js";
import { fixturePath, tinyRows } from "../support/fixtures.js";
import { type JudgeServer, startJudgeServer } from "../support/judge-server.js";

const judges = {
  "router-json-1": "router-json-v1",
  "router-json-1-four": "router-json-v1-four-outputs",
  "llm-router-2": "llm-router/v2-per-target.pt",
  "llm-router-2-one": "llm-router/v2-one-target.pt",
  "llm-router-3": "llm-router/v3-shared-once.pt",
  switchyard: "switchyard-0.3.0/two-models.pt",
  "switchyard-four": "switchyard-0.3.0/four-models.pt",
};

async function configuration(): Promise<string> {
  const tables = Object.entries(judges).map(async ([name, path]) => {
    const { head } = await loadCheckpoint(fixturePath(`checkpoints/${path}`));
    const output = JSON.stringify(head.outputNames[0]);
    return `[judges.${name}]\ncheckpoint = "${fixturePath(`checkpoints/${path}`)}"\nencoder = "tiny"\noutput = ${output}\n`;
  });
  return `[encoders.tiny]\ntype = "onnx"\npath = "${fixturePath("tiny-encoder")}"\n${(await Promise.all(tables)).join("")}`;
}

describe("every checkpoint format in one process", () => {
  let server: JudgeServer;
  before(async () => {
    server = await startJudgeServer(await configuration());
  });
  after(() => server.close());

  for (const [name, path] of Object.entries(judges)) {
    test(`${name}: every output of every prompt within 1e-5`, async (context) => {
      const { head } = await loadCheckpoint(fixturePath(`checkpoints/${path}`));
      const rows = tinyRows();
      const prompts = rows.map((row) => row.prompt);
      const response = await server.post("/v1/score", { model: name, prompts });
      assert.equal(response.status, 200);
      const { results } = (await response.json()) as { results: { probabilities: Record<string, number> }[] };
      let largest = 0;
      rows.forEach((row, index) => {
        const pooled = new Map(
          (["mean", "last"] as const).flatMap((mode) =>
            Object.entries(row[mode]).map(([layer, vector]) => [
              pooledKey(Number(layer), mode),
              Float32Array.from(vector),
            ]),
          ),
        );
        const wanted = probabilities(head, pooled);
        assert.deepEqual(Object.keys(results[index]!.probabilities), head.outputNames);
        head.outputNames.forEach((output, position) => {
          largest = Math.max(largest, Math.abs(results[index]!.probabilities[output]! - wanted[position]!));
        });
      });
      context.diagnostic(`largest difference: ${largest.toExponential(2)}`);
      assert.ok(largest <= 1e-5, `differs by ${largest}`);
    });
  }

  test("one encoder process serves them all", () => {
    assert.equal(server.judges.encoders.length, 1);
    assert.equal(server.judges.registry.judges.length, Object.keys(judges).length);
  });

  test("a head of Switchyard's own format reads the latest user message, the others the first", async () => {
    const ask = async (model: string, ...texts: string[]) => {
      const messages = texts.map((content) => ({ role: "user", content }));
      const response = await server.post("/v1/chat/completions", { model, messages });
      return response.headers.get("x-prefill-judge-p-solve");
    };
    const [first, latest] = ["What is the capital of France?", "Hi"];
    assert.equal(await ask("switchyard", first!, latest!), await ask("switchyard", latest!));
    assert.equal(await ask("router-json-1", first!, latest!), await ask("router-json-1", first!));
    assert.notEqual(await ask("switchyard", first!), await ask("switchyard", latest!));
  });
});
