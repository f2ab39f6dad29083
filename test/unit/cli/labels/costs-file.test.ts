// A file of costs on the tiny encoder: both forms in both formats, and what is refused.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { applyCosts, readCosts } from "../../../../src/cli/labels/costs-file.js";
import { parseLabels } from "../../../../src/labels/labels.js";
import { rejection } from "../../../support/refusal.js";
import { tinyEncoder } from "../../../support/tiny.js";
import { textReader } from "../../../support/train/text-reader.js";

const folder = mkdtempSync(join(tmpdir(), "judge-costs-"));
const encoder = tinyEncoder();
before(() => encoder.start());
after(async () => {
  await encoder.close();
  rmSync(folder, { recursive: true });
});

const write = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const texts = ["add 1 and 2", "add 1", "name the towns of that country, one after the other"];
const lines = texts.map((prompt, index) => {
  const labels = { weak: true, "gpt-3.5": false };
  return JSON.stringify({ prompt, labels, output_tokens: { weak: 10 * index + 10, "gpt-3.5": 7 } });
});
const labels = parseLabels(lines.join("\n"), "jsonl", textReader);
const wanted = { outputs: ["weak", "gpt-3.5"], known: ["weak", "gpt-3.5", "spare"], labels, texts };

test("numbers, as TOML and as JSON, some of outputs that are not asked for", async () => {
  const toml = write("numbers.toml", 'weak = 1\n"gpt-3.5" = 2.5\nspare = 7\n');
  const json = write("numbers.json", '{"weak": 1, "gpt-3.5": 2.5}');
  for (const file of [toml, json]) {
    assert.deepEqual(await applyCosts(await readCosts(file), wanted, encoder), { weak: 1, "gpt-3.5": 2.5 });
  }
});

test("prices of tokens, with the encoder's median prompt and the labels' median answer", async () => {
  const table = (name: string, input: number, output: number) =>
    `["${name}"]\ncost_per_m_input_tokens = ${input}\ncost_per_m_output_tokens = ${output}\n`;
  const file = write("prices.toml", table("weak", 1, 4) + table("gpt-3.5", 3, 6));
  const view = { template: "none", maxTokens: encoder.facts.maxTokens, truncation: "right" } as const;
  const counts = await Promise.all(
    texts.map(async (text) => {
      const [tokens] = await encoder.tokenize([text], view);
      assert.ok(tokens !== undefined && "ids" in tokens);
      return tokens.ids.length;
    }),
  );
  const [, prompt] = counts.toSorted((a, b) => a - b);
  const costs = await applyCosts(await readCosts(file), wanted, encoder);
  assert.deepEqual(costs, { weak: (prompt! + 4 * 20) / 1e6, "gpt-3.5": (3 * prompt! + 6 * 7) / 1e6 });
});

describe("refused, naming the file", () => {
  const cases: readonly (readonly [name: string, content: string, message: RegExp])[] = [
    ["toml.toml", "weak = \n", /toml\.toml: line 1, column 8: not TOML; a file of costs is TOML or JSON/],
    ["twice.toml", "weak = 1\nweak = 2\n", /twice\.toml: line 2, column 1: not TOML/],
    ["json.json", '{"weak": }', /json\.json: not JSON; /],
    ["infinite.toml", "weak = inf\n", /infinite\.toml: "weak": found Infinity, wanted/],
    ["negative.json", '{"weak": -1}', /negative\.json: "weak": found -1, wanted/],
  ];
  for (const [name, content, message] of cases) {
    test(name, async () => {
      assert.match((await rejection("usage", readCosts(write(name, content)))).message, message);
    });
  }

  test("a file that is not there", async () => {
    const error = await rejection("usage", readCosts(join(folder, "nowhere.toml")));
    assert.match(error.message, /nowhere\.toml cannot be read \(ENOENT\)/);
  });

  test("an output that nobody has, with the nearest one, and an output without cost", async () => {
    const apply = async (content: string) =>
      await rejection("usage", applyCosts(await readCosts(write("names.json", content)), wanted, encoder));
    const unknown = await apply('{"weak": 1, "gpt-3.5": 1, "waek": 1}');
    assert.match(unknown.message, /names\.json: no output is named "waek"; the nearest known one is weak$/);
    const proto = await apply('{"weak": 1, "gpt-3.5": 1, "__proto__": 1}');
    assert.match(proto.message, /no output is named "__proto__"/);
    const missing = await apply('{"weak": 1}');
    assert.match(missing.message, /names\.json: "gpt-3\.5" has no cost; give one to every output$/);
  });
});
