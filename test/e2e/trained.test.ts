// The judge of the tutorial in the real Switchyard's seat: prompts of the test split reach the model that its
// p says.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { routesToml } from "../../src/cli/routes/routes-text.js";
import { baseUrl } from "../../src/config/base-url.js";
import { type Router, startSwitchyard } from "../support/clients/switchyard-process.js";
import { packagePath } from "../support/fixtures.js";
import { type JudgeServer, parseConfig, startJudgeServer } from "../support/judge-server.js";

const threshold = 0.3;
const toml = `[runtime]\ndeadline_ms = 60000\n[judges.tasks]\ncheckpoint = "${packagePath("checkpoints/tasks-demo")}"\nencoder = "minilm"\n`;
const prompts = readFileSync(packagePath("prompts/tasks.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as { prompt: string; split: string })
  .filter(({ split }) => split === "test")
  .slice(0, 60)
  .map(({ prompt }) => prompt);

describe("Switchyard 0.3.0 with the judge of the tutorial", () => {
  let server: JudgeServer;
  let router: Router;

  before(async () => {
    server = await startJudgeServer(toml);
    const routes = routesToml(parseConfig(toml), baseUrl("127.0.0.1", Number(new URL(server.url).port)));
    router = await startSwitchyard(routes.replace("base_threshold = 0.80", `base_threshold = ${threshold}`));
  });
  after(async () => {
    await router?.close();
    await server?.close();
  });

  test(`at threshold ${threshold} every task reaches the model that its p says`, async (context) => {
    const response = await server.post("/v1/score", { prompts });
    const { results } = (await response.json()) as { results: { p_solve: number }[] };
    const counts = { "weak-model": 0, "strong-model": 0 };
    for (const [index, prompt] of prompts.entries()) {
      const wanted = results[index]!.p_solve >= threshold ? "weak-model" : "strong-model";
      const { status, model } = await router.ask([{ role: "user", content: prompt }]);
      assert.deepEqual([status, model], [200, wanted]);
      counts[wanted]++;
    }
    context.diagnostic(`weak ${counts["weak-model"]}, strong ${counts["strong-model"]}`);
    assert.ok(counts["weak-model"] >= 5 && counts["strong-model"] >= 5);
  });
});
