// The other seats that the real Switchyard has for a judge: clients of the Responses and the Messages API,
// stage_router, composite, and escalation, where a judge of prompts has no say.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { routesToml } from "../../src/cli/routes/routes-text.js";
import { startSwitchyard } from "../support/clients/switchyard-process.js";
import { parityRows } from "../support/fixtures.js";
import { type JudgeServer, parseConfig, startJudgeServer } from "../support/judge-server.js";
import { docRoutes } from "../support/pages.js";

const threshold = 0.8;
const weakModel = "mistralai/Mixtral-8x7B-Instruct-v0.1";
const toml = "[runtime]\ndeadline_ms = 60000\n[judges.prefill-judge]\n";
const rows = parityRows("smollm2-135m").filter(
  (row) => Math.abs(row.probabilities[weakModel]! - threshold) > 1e-3,
);
const modelOf = (row: (typeof rows)[number]) =>
  row.probabilities[weakModel]! >= threshold ? "weak-model" : "strong-model";
/** Of each model some. */
const some = ["weak-model", "strong-model"].flatMap((model) =>
  rows.filter((row) => modelOf(row) === model).slice(0, 6),
);

let server: JudgeServer;
let printed: string;
before(async () => {
  server = await startJudgeServer(toml);
  printed = routesToml(parseConfig(toml), server.url);
});
after(() => server?.close());

/** Asks Switchyard for each prompt, and wants the model that the reference says. */
async function routesAsReferenced(routes: string): Promise<void> {
  const router = await startSwitchyard(routes);
  try {
    for (const row of some) {
      const { status, model } = await router.ask([{ role: "user", content: row.prompt }]);
      assert.deepEqual([status, model], [200, modelOf(row)], row.prompt.slice(0, 60));
    }
  } finally {
    await router.close();
  }
}

/** The printed file with another route, taken from README. */
function withRoute(type: string): string {
  return printed.slice(0, printed.indexOf("[routes.auto]")) + docRoutes(`type = "${type}"`);
}

for (const format of ["openai_responses", "anthropic_messages"]) {
  describe(`a judge's client of format ${format}`, () => {
    const keys = mkdtempSync(join(tmpdir(), "judge-seat-keys-"));
    after(() => rmSync(keys, { recursive: true }));
    const inFormat = (text: string) => text.replace("openai_chat", format);

    test("gets the verdicts that the reference says", () => routesAsReferenced(inFormat(printed)));

    test("sends its key in its own way, and learns of a wrong one", async () => {
      writeFileSync(join(keys, "keys"), "sk-seat\n");
      const guardedToml = `[server]\napi_keys_file = "${join(keys, "keys")}"\n${toml}`;
      const guarded = await startJudgeServer(guardedToml);
      const text = inFormat(routesToml(parseConfig(guardedToml), guarded.url)).replace(
        "JUDGE_KEY",
        "SEAT_KEY",
      );
      try {
        for (const [key, status] of [
          ["sk-seat", 200],
          ["sk-wrong", 401],
        ] as const) {
          process.env.SEAT_KEY = key;
          const router = await startSwitchyard(text);
          assert.equal((await router.ask([{ role: "user", content: some[0]!.prompt }])).status, status);
          await router.close();
        }
      } finally {
        delete process.env.SEAT_KEY;
        await guarded.close();
      }
    });

    test("works with base_url without /v1 too", () =>
      routesAsReferenced(inFormat(printed).replace(`${server.url}/v1`, server.url)));
  });
}

for (const type of ["stage_router", "composite"]) {
  test(`a route of type ${type} asks the judge for the first turn`, () =>
    routesAsReferenced(withRoute(type)));
}

describe("a route of mode escalation", () => {
  const route = `mode = "escalation"
classifier_target = "prefill"
strong_target = "strong"
weak_target = "weak"
[routes.auto.escalation]
confirmations = 1
`;
  /** The models of three turns of one conversation. */
  async function turns(): Promise<(string | null)[]> {
    const router = await startSwitchyard(printed.replace(/^mode[\s\S]*/m, route));
    const messages: object[] = [];
    const found: (string | null)[] = [];
    for (const content of ["Mend the test.", "It still fails.", "And now?"]) {
      messages.push({ role: "user", content });
      const { model } = await router.ask(messages);
      messages.push({ role: "assistant", content: model });
      found.push(model);
    }
    await router.close();
    return found;
  }

  test("stays with the weak model", async () => {
    assert.deepEqual(await turns(), ["weak-model", "weak-model", "weak-model"]);
    assert.ok(server.logLines.some((line) => line.includes('"abstained":"running_transcript"')));
  });

  test('goes to the strong model with escalation = "escalate"', async () => {
    await server.reload(`${toml}escalation = "escalate"\n`);
    const found = await turns().finally(() => server.reload(toml));
    assert.equal(found.at(-1), "strong-model");
  });
});
