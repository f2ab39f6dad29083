// Judges of a command, real, on the tiny encoder: they stand on one encoder, share its runs, and read each
// checkpoint once.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { describe, test } from "node:test";
import { encoderConfig, withChosenJudge } from "../../../src/cli/chosen-judges.js";
import { predict } from "../../../src/cli/score-rows.js";
import { createTerminal } from "../../../src/cli/terminal.js";
import { fixturePath, packagePath, packageRoot } from "../../support/fixtures.js";
import { parseConfig, tinyConfig } from "../../support/judge-server.js";
import { rejection } from "../../support/refusal.js";

const config = parseConfig(tinyConfig);
const encoder = fixturePath("tiny-encoder");
const two = fixturePath("checkpoints/router-json-v1");
const four = fixturePath("checkpoints/router-json-v1-four-outputs");
const terminal = { ...createTerminal(packageRoot, "0", "dumb"), errorIsTerminal: false };
const texts = Array.from({ length: 20 }, (_, index) => `Task ${index}: add ${index} and ${index * 3}.`);

test("checkpoints stand on one encoder, and texts are encoded once for all of them", async (context) => {
  await withChosenJudge(config, { checkpoint: two, encoder, others: [four, two] }, async (...judges) => {
    assert.deepEqual(
      judges.map(({ output, checkpoint }) => [output, checkpoint.path]),
      [
        ["weak", two],
        [judges[1]!.checkpoint.head.outputNames[0], four],
        ["weak", two],
      ],
    );
    assert.equal(new Set(judges.map((judge) => judge.encoder)).size, 1);
    const encode = context.mock.method(judges[0].encoder, "encode");
    const [own, other, again] = await predict(judges, texts, terminal);
    const encoded = encode.mock.calls.flatMap(({ arguments: [batch] }) => batch);
    assert.deepEqual(encoded, texts);
    assert.deepEqual([...own!.keys()], ["weak", "strong"]);
    assert.equal(other!.size, 4);
    assert.deepEqual(again, own);
    const [alone] = await predict([judges[1]!], texts, terminal);
    for (const [name, values] of alone!) {
      values.forEach((p, row) => {
        assert.ok(Math.abs(p - other!.get(name)![row]!) < 1e-5, `${name}, row ${row}`);
      });
    }
  });
});

test("a judge of the configuration and a checkpoint in another view share the encoder, not the run", async (context) => {
  await withChosenJudge(config, { others: [two] }, async (...judges) => {
    assert.deepEqual(
      judges.map(({ id }) => id),
      ["tiny", "against 1"],
    );
    assert.equal(judges[1]!.encoder, judges[0].encoder);
    const encode = context.mock.method(judges[0].encoder, "encode");
    await predict(judges, texts.slice(0, 4), terminal);
    const views = encode.mock.calls.map(({ arguments: [[text], { view }] }) => `${view.maxTokens} ${text}`);
    const longest = Math.min(2048, judges[0].encoder.facts.maxTokens);
    assert.deepEqual(
      views.sort(),
      [256, longest].flatMap((most) => texts.slice(0, 4).map((text) => `${most} ${text}`)).sort(),
    );
  });
});

test("each checkpoint is read once", async (context) => {
  const open = context.mock.method(fs, "open");
  syncBuiltinESMExports();
  try {
    await withChosenJudge(config, { checkpoint: two, encoder, others: [four] }, async () => {});
  } finally {
    open.mock.restore();
    syncBuiltinESMExports();
  }
  const read = open.mock.calls.map(({ arguments: [path] }) => String(path));
  for (const folder of [two, four]) {
    assert.equal(read.filter((path) => path === `${folder}/router.safetensors`).length, 1);
  }
});

describe("refused", () => {
  const nothing = async () => {};
  test("a checkpoint among others that does not fit, naming both sides", async () => {
    const foreign = packagePath("checkpoints/minilm-l6");
    const error = await rejection("checkpoint", withChosenJudge(config, { others: [two, foreign] }, nothing));
    assert.match(
      error.message,
      /judge against 2: checkpoint .*minilm-l6: the checkpoint was trained with model\.onnx of SHA-256 \w+…, encoder tiny has another;/,
    );
  });
  test("a checkpoint that is none, and one without encoder", async () => {
    const error = await rejection("checkpoint", withChosenJudge(config, { others: [encoder] }, nothing));
    assert.match(error.message, /tiny-encoder: router\.json is missing/);
    const bare = await rejection("usage", withChosenJudge(config, { checkpoint: two }, nothing));
    assert.match(bare.message, /--checkpoint needs --encoder/);
  });
  test("a text that a judge abstains from, by row and judge", async () => {
    await withChosenJudge(config, { others: [two] }, async (judge, other) => {
      const broken = { ...other!, judge: () => other!.judge([null]) };
      const error = await rejection("usage", predict([judge, broken], ["a"], terminal));
      assert.equal(error.message, "row 1 could not be judged by against 1: no_user_text");
    });
  });
});

test("an encoder is a configured one by its id, else a folder that bears the name it was given", () => {
  assert.deepEqual(
    encoderConfig(config, "tiny"),
    config.encoders.find(({ id }) => id === "tiny"),
  );
  assert.equal(encoderConfig(config, "tiny").path, encoder);
  const folder = encoderConfig(config, encoder);
  assert.deepEqual([folder.id, folder.path, folder.model], [encoder, encoder, null]);
});
