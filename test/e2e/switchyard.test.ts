// The whole way with the real router: a user's request to Switchyard, its judge request to this server, and
// the model that answers, compared with what the reference probabilities say.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { routesToml } from "../../src/cli/routes/routes-text.js";
import { baseUrl } from "../../src/config/base-url.js";
import type { OnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import { imageMessage, routedPrompts, threshold } from "../support/clients/routed-prompts.js";
import { type Router, startSwitchyard } from "../support/clients/switchyard-process.js";
import { type JudgeServer, parseConfig, startJudgeServer } from "../support/judge-server.js";

const subjects = [
  { id: "prefill-judge", checkpoint: "smollm2-135m", encoder: "smollm2", tolerance: 1e-4 },
  { id: "prefill-judge-fast", checkpoint: "minilm-l6", encoder: "minilm", tolerance: 2e-3 },
] as const;

/** The routes.toml as `prefill-judge routes` prints it, for a server on `port`. */
function shippedRoutes(toml: string, port: string): string {
  return routesToml(parseConfig(toml), baseUrl("127.0.0.1", Number(port)));
}

for (const { id, checkpoint, encoder, tolerance } of subjects) {
  describe(`Switchyard 0.3.0 with ${id}`, () => {
    // an empty table serves the embedded judge as shipped; the tests' machine is slow at times
    // every request is to reach the encoder, though the prompts come again
    const toml = `[runtime]\ndeadline_ms = 60000\ncache_bytes = 0\n[judges.${id}]\n`;
    const { rows, decided, modelOf, isDecided, conversations } = routedPrompts(checkpoint, tolerance);
    let server: JudgeServer;
    let router: Router;

    before(async () => {
      server = await startJudgeServer(toml);
      router = await startSwitchyard(shippedRoutes(toml, new URL(server.url).port));
    });
    after(async () => {
      await router?.close();
      await server?.close();
    });

    test(`at threshold ${threshold} every prompt reaches the model that the reference says`, async (context) => {
      const counts = { "weak-model": 0, "strong-model": 0 };
      for (const row of decided) {
        const wanted = modelOf(row);
        const { status, model } = await router.ask([{ role: "user", content: row.prompt }]);
        assert.deepEqual([status, model], [200, wanted], row.prompt.slice(0, 60));
        counts[wanted]++;
      }
      context.diagnostic(`weak ${counts["weak-model"]}, strong ${counts["strong-model"]}`);
      assert.ok(decided.length >= 20 && counts["weak-model"] >= 5 && counts["strong-model"] >= 5);
    });

    test("a conversation is judged by its opening message", async () => {
      for (const { messages, model } of conversations)
        assert.equal((await router.ask(messages)).model, model);
    });

    test("a message without text goes to the strong model", async () => {
      const { status, model } = await router.ask([imageMessage]);
      assert.deepEqual([status, model], [200, "strong-model"]);
    });

    test("kill -9 of the encoder under 12 requests: no user sees an error, none reaches a wrong model", async (context) => {
      const child = server.judges.encoders[0]!.encoder as OnnxEncoder;
      assert.equal(child.id, encoder);
      let abstained = 0;
      for (let round = 0; round < 3; round++) {
        while (!server.judges.registry.ready) await sleep(20);
        const batch = rows.slice(round * 12, round * 12 + 12);
        const answers = batch.map((row) => router.ask([{ role: "user", content: row.prompt }]));
        await sleep(40);
        process.kill(child.pids[0]!, "SIGKILL");
        for (const [index, answer] of (await Promise.all(answers)).entries()) {
          assert.equal(answer.status, 200);
          const row = batch[index]!;
          if (!isDecided(row) || answer.model === modelOf(row)) continue;
          assert.equal(answer.model, "strong-model", "only an abstention may change the model");
          abstained++;
        }
      }
      context.diagnostic(`${abstained} of 36 requests went to the strong model by abstention`);
      assert.ok(server.logLines.filter((line) => line.includes("encoder down")).length >= 3);
    });
  });
}
