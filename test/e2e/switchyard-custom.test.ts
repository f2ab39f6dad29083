// Custom mode with the real Switchyard: three groups of models, and each request reaches the one that the
// reference probabilities say, whichever API the router speaks.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { chooseByTolerance } from "../../src/answer/choice.js";
import { routesToml } from "../../src/cli/routes/routes-text.js";
import { baseUrl } from "../../src/config/base-url.js";
import { startSwitchyard } from "../support/clients/switchyard-process.js";
import { parityRows } from "../support/fixtures.js";
import { type JudgeServer, parseConfig, startJudgeServer } from "../support/judge-server.js";
import { docBlocks, docRoutes } from "../support/pages.js";
import { costs, outputs, referenceOf, writeThreeOutputs } from "../support/three-outputs.js";

const folder = mkdtempSync(join(tmpdir(), "judge-three-"));
const tolerance = 0.05;
const groups = { efficient: outputs.weak, middle: outputs.middle, capable: outputs.strong };
const [names, models] = [Object.values(groups), Object.keys(groups).map((group) => `${group}-model`)];

const judge = `[runtime]
deadline_ms = 60000
[judges.pool]
checkpoint = "${folder}"
encoder = "smollm2"
output = "${outputs.weak}"
`;
const table = `[judges.pool.custom]
pointer = "/decision/target"
targets = { ${Object.entries(groups).map(([group, output]) => `${group} = "${output}"`)} }
tolerance = ${tolerance}
template = { why = "learned" }
`;

/** The routes.toml that `prefill-judge routes` prints for this configuration. */
function printedRoutes(toml: string, server: JudgeServer): string {
  return routesToml(parseConfig(toml), baseUrl("127.0.0.1", Number(new URL(server.url).port)));
}

const pOf = (row: Parameters<typeof referenceOf>[0]) => names.map((name) => referenceOf(row)[name]!);
/** The model of a row by the reference; null where the encoder's own inaccuracy may decide. */
function modelOf(row: Parameters<typeof referenceOf>[0]): string | null {
  const choices = [-2e-3, 0, 2e-3].map((shift) =>
    chooseByTolerance(
      pOf(row),
      names.map((name) => costs[name]!),
      tolerance + shift,
    ),
  );
  return choices[0] === choices[2] ? models[choices[1]!]! : null;
}

before(() => writeThreeOutputs(folder));
after(() => rmSync(folder, { recursive: true }));

describe("Switchyard 0.3.0 in custom mode with three groups", () => {
  const rows = parityRows("smollm2-135m").filter((row) => modelOf(row) !== null);
  let server: JudgeServer;
  before(async () => {
    server = await startJudgeServer(judge + table);
  });
  after(() => server?.close());

  for (const format of ["openai_chat", "openai_responses", "anthropic_messages"]) {
    test(`as ${format} every prompt reaches the group that the reference says`, async (context) => {
      const text = printedRoutes(judge + table, server).replace("openai_chat", format);
      const router = await startSwitchyard(text);
      try {
        const counts = Object.fromEntries(models.map((model) => [model, 0]));
        for (const row of rows) {
          const wanted = modelOf(row)!;
          const { status, model } = await router.ask([{ role: "user", content: row.prompt }]);
          assert.deepEqual([status, model], [200, wanted], row.prompt.slice(0, 60));
          counts[wanted]!++;
        }
        context.diagnostic(JSON.stringify(counts));
        assert.ok(models.every((model) => counts[model]! >= 4));
        const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
        const { status, model } = await router.ask([{ role: "user", content: [image] }]);
        assert.deepEqual([status, model], [200, "capable-model"]);
      } finally {
        await router.close();
      }
    });
  }

  test("a schema that wants more than the template has is told by the judge, and default_target decides", async () => {
    const text = printedRoutes(judge + table, server)
      .replace('"required":["decision"]', '"required":["decision","score"]')
      .replace('default_target = "capable"', 'default_target = "middle"');
    const router = await startSwitchyard(text);
    try {
      const { status, model } = await router.ask([{ role: "user", content: rows[0]!.prompt }]);
      assert.deepEqual([status, model], [200, "middle-model"]);
      assert.match(server.logLines.at(-1)!, /"abstained":"schema_not_met"/);
    } finally {
      await router.close();
    }
  });
});

test("the table and the route that README shows send each prompt where the reference says", async () => {
  const pasted = docBlocks("toml").find((block) => block.startsWith("[judges.prefill-judge.custom]"))!;
  const server = await startJudgeServer(`${pasted}[runtime]\ndeadline_ms = 60000\n`);
  const printed = printedRoutes(pasted, server);
  const text = printed.slice(0, printed.indexOf("[routes.auto]")) + docRoutes('mode = "custom"');
  const router = await startSwitchyard(text);
  const counts = { "efficient-model": 0, "capable-model": 0 };
  try {
    for (const row of parityRows("smollm2-135m")) {
      const { [outputs.weak]: weak, [outputs.strong]: strong } = row.probabilities;
      const margin = weak! - (strong! - 0.1);
      if (Math.abs(margin) < 2e-3) continue;
      const wanted = margin >= 0 ? "efficient-model" : "capable-model";
      const { status, model } = await router.ask([{ role: "user", content: row.prompt }]);
      assert.deepEqual([status, model], [200, wanted], row.prompt.slice(0, 60));
      counts[wanted]++;
    }
    assert.ok(counts["efficient-model"] >= 5 && counts["capable-model"] >= 5, JSON.stringify(counts));
  } finally {
    await router.close();
    await server.close();
  }
});

test("a judge without a table leaves every request to the route's default_target", async () => {
  const server = await startJudgeServer(judge);
  for (const group of ["efficient", "capable"]) {
    const text = printedRoutes(judge + table, server).replace(
      /default_target = .*/,
      `default_target = "${group}"`,
    );
    const router = await startSwitchyard(text);
    const { status, model } = await router.ask([{ role: "user", content: "What is 1 + 1?" }]);
    await router.close();
    assert.deepEqual([status, model], [200, `${group}-model`]);
    assert.match(server.logLines.at(-1)!, /"abstained":"no_custom_table"/);
  }
  await server.close();
});
