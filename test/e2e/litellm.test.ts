// The second router that speaks this judge's protocol: the real LiteLLM, which must reach the model that the
// reference probabilities say, through both embedded judges.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Models, startModels } from "../support/clients/models.js";
import { type LineProcess, startLineProcess } from "../support/clients/process.js";
import { imageMessage, routedPrompts } from "../support/clients/routed-prompts.js";
import { packagePath } from "../support/fixtures.js";
import { type JudgeServer, startJudgeServer } from "../support/judge-server.js";

interface UserRequest {
  readonly group: string;
  readonly messages?: readonly object[];
  readonly input?: readonly object[];
}
interface Reply {
  readonly model: string | null;
  readonly error: string | null;
}

const flags = { "--deadline-ms": "60000" };
const subjects = [
  { id: "prefill-judge", checkpoint: "smollm2-135m", tolerance: 1e-4 },
  { id: "prefill-judge-fast", checkpoint: "minilm-l6", tolerance: 2e-3 },
] as const;

/** LiteLLM loads its price list from the network unless told otherwise. */
const offline = { LITELLM_LOCAL_MODEL_COST_MAP: "True", LITELLM_LOG: "CRITICAL" };

describe("LiteLLM 1.110.2", () => {
  let server: JudgeServer;
  let unstarted: JudgeServer;
  let models: Models;
  let router: LineProcess<unknown, Reply>;

  const ask = (group: string, messages: readonly object[]) =>
    router.ask({ group, messages } satisfies UserRequest);
  const judgements = ({ logLines }: JudgeServer) =>
    logLines.filter((line) => line.includes('"judged"')).length;

  before(async () => {
    server = await startJudgeServer("[judges.prefill-judge]\n[judges.prefill-judge-fast]\n", flags);
    unstarted = await startJudgeServer("[judges.prefill-judge-fast]\n", flags, false);
    models = await startModels();
    const python = packagePath(".venv/bin/python");
    router = startLineProcess(python, [packagePath("test/e2e/litellm_router.py")], offline);
    const fast = { model: "prefill-judge-fast", url: server.url, vision: false };
    const judges = {
      "prefill-judge": { ...fast, model: "prefill-judge" },
      "prefill-judge-fast": fast,
      vision: { ...fast, vision: true },
      down: { ...fast, url: unstarted.url },
    };
    router.tell({ models: models.url, judges });
  });
  after(async () => {
    await router?.close();
    models?.close();
    await unstarted?.close();
    await server?.close();
  });

  for (const { id, checkpoint, tolerance } of subjects) {
    const { decided, modelOf, conversations } = routedPrompts(checkpoint, tolerance);

    test(`through ${id} every prompt reaches the model that the reference says`, async (context) => {
      const counts = { "weak-model": 0, "strong-model": 0 };
      const before = judgements(server);
      for (const row of decided) {
        const wanted = modelOf(row);
        const { model, error } = await ask(id, [{ role: "user", content: row.prompt }]);
        assert.deepEqual([error, model], [null, wanted], row.prompt.slice(0, 60));
        counts[wanted]++;
      }
      context.diagnostic(`weak ${counts["weak-model"]}, strong ${counts["strong-model"]}`);
      assert.ok(counts["weak-model"] >= 12 && counts["strong-model"] >= 12);
      assert.equal(judgements(server) - before, decided.length, "LiteLLM asked the judge each time");
    });

    test(`through ${id} a conversation is judged by its opening message`, async () => {
      for (const { messages, model } of conversations) assert.equal((await ask(id, messages)).model, model);
    });
  }

  test("an abstaining judge sends the user to the strong model: image only", async () => {
    const reply = await ask("vision", [imageMessage]);
    assert.deepEqual(reply, { model: "strong-model", error: null });
    assert.ok(server.logLines.some((line) => line.includes('"no_user_text"')));
  });

  test("an image alone is not shown to the judge unless LiteLLM is told that it sees images", async () => {
    const before = judgements(server);
    const { error } = await ask("prefill-judge-fast", [imageMessage]);
    assert.equal(error, null);
    assert.equal(judgements(server), before);
  });

  test("an abstaining judge sends the user to the strong model: encoder not started", async () => {
    const { decided, modelOf } = routedPrompts("minilm-l6", 0.05);
    const easy = decided.find((row) => modelOf(row) === "weak-model")!;
    const messages = [{ role: "user", content: easy.prompt }];
    assert.equal((await ask("prefill-judge-fast", messages)).model, "weak-model");
    assert.deepEqual(await ask("down", messages), { model: "strong-model", error: null });
    assert.ok(unstarted.logLines.some((line) => line.includes('"encoder_down"')));
  });

  // the last: LiteLLM rests a model that has no Responses API, as those here
  test("a task that only its receiver can decrypt is not judged by LiteLLM's placeholder for it", async () => {
    const content = [
      { type: "input_text", text: "Message from the root agent" },
      { type: "encrypted_content", encrypted_content: "Z2VoZWlt" },
    ];
    const input = [{ type: "agent_message", author: "root", recipient: "helper", content }];
    const before = server.logLines.length;
    const { error } = await router.ask({ group: "prefill-judge-fast", input });
    const lines = server.logLines.slice(before).filter((line) => line.includes('"judged"'));
    assert.equal(lines.length, 1, String(error));
    assert.match(lines[0]!, /"abstained":"no_user_text"/);
  });
});
