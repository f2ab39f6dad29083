// Which prompts a training writes into its selftest, and what of a file of prompts is refused; on the tiny
// encoder.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { selftestTexts, tokenizePrompts } from "../../../../src/cli/train/train-selftest.js";
import { parseLabels } from "../../../../src/labels/labels.js";
import { tinyRows } from "../../../support/fixtures.js";
import { rejection } from "../../../support/refusal.js";
import { tinyEncoder } from "../../../support/tiny.js";
import { textReader } from "../../../support/train/text-reader.js";

const folder = mkdtempSync(join(tmpdir(), "judge-selftest-"));
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
const secret = "What does the contract with the city say?";
const tested = "Only evaluated.";
const lines = [
  { prompt: secret, split: "train" },
  { prompt: "Short, and ours.", split: "train" },
  { prompt: tested, split: "test" },
].map((row) => JSON.stringify({ ...row, labels: { weak: true } }));
const labels = parseLabels(lines.join("\n"), "jsonl", textReader);
const trained = labels.rows.filter(({ split }) => split === "train").map(({ text }) => text);

test("without a file, the five shortest that are trained on", async () => {
  assert.deepEqual(await selftestTexts(undefined, trained, labels), ["Short, and ours.", secret]);
  const many = ["dddd", "bb", "ccc", "aa", "a", "bb", "eeeee", "fffff"];
  assert.deepEqual(await selftestTexts(undefined, many, labels), ["a", "bb", "aa", "ccc", "dddd"]);
});

test("the five shortest of a file of lines, or of JSON lines with prompt", async () => {
  const texts = ["four prompts", "and a fifth", "three", "two", "one", "six is the longest"];
  const wanted = ["two", "one", "three", "and a fifth", "four prompts"];
  const plain = write("plain.txt", `\uFEFF${texts.join("\r\n\r\n \t\r\n")}\r\n`);
  const rows = texts.map((prompt) => JSON.stringify({ id: "x", prompt }));
  const named = ["rows.jsonl", "rows.ndjson", "ROWS.JSONL", "rows.jsonlines"];
  for (const file of [plain, ...named.map((name) => write(name, `${rows.join("\n")}\n`))]) {
    assert.deepEqual(await selftestTexts(file, trained, labels), wanted);
  }
  const lineFeeds = write("line-feeds.jsonl", JSON.stringify({ prompt: "one\ntwo" }));
  assert.deepEqual(await selftestTexts(lineFeeds, trained, labels), ["one\ntwo"]);
});

test("no prompt of the labels passes, of whatever split, nor one that differs in white space", async () => {
  const file = write("mixed.txt", [secret, ` ${secret} `, tested, "Ours alone."].join("\n"));
  assert.deepEqual(await selftestTexts(file, trained, labels), ["Ours alone."]);
});

test("nor one that stands in another text: a table of the labels, copied into lines", async () => {
  const file = write("copied.txt", [`1,"${secret}",true`, "Ours alone."].join("\n"));
  assert.deepEqual(await selftestTexts(file, trained, labels), ["Ours alone."]);
});

test("a file without another prompt, of another form or that is missing is refused by name", async () => {
  const cases: readonly (readonly [file: string, message: RegExp])[] = [
    [
      write("labelled.txt", `${secret}\n${tested}\n`),
      /labelled\.txt has no prompt that is not in the labels/,
    ],
    [write("empty.txt", "\n \n"), /empty\.txt has no prompt/],
    [
      write("bad.jsonl", '{"text": "x"}\n'),
      /bad\.jsonl: row 1 \(line 1\), field prompt: found nothing, wanted a string/,
    ],
    [
      write("lines.json", `Ours.\n${lines[0]}\n`),
      /lines\.json: found JSON in line 2, wanted one prompt a line/,
    ],
    [write("array.txt", `[\n${lines[0]}\n]`), /array\.txt: found JSON in line 1/],
    [write("labels.CSV", "x,y\nOurs,1\n"), /labels\.CSV: found a table/],
    [write("labels.text", `question,model,isCorrect\n${secret},weak,True\n`), /labels\.text: found a table/],
    [join(folder, "none.txt"), /none\.txt cannot be read \(ENOENT\)/],
  ];
  for (const [file, message] of cases) {
    const error = await rejection("usage", selftestTexts(file, trained, labels));
    assert.match(error.message, message);
    assert.ok(!error.message.includes(secret));
  }
});

test("prompts are tokenized whole; one that the view cuts is refused", async () => {
  const [row] = tinyRows();
  const view = { template: "chat", templateArguments: {}, maxTokens: 128, truncation: "middle" } as const;
  const [prompt] = await tokenizePrompts(encoder, view, [row!.prompt]);
  assert.deepEqual(prompt, { text: row!.prompt, inputIds: row!.input_ids });
  const { message } = await rejection("usage", tokenizePrompts(encoder, view, ["ok", "word ".repeat(400)]));
  assert.match(message, /over 128 tokens; give --selftest a file of other prompts/);
});
