// selftest.json: that the committed ones come from the reference rows, and what else is refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { parseSelftest } from "../../../src/checkpoint/selftest.js";
import { packagePath } from "../../support/fixtures.js";
import { makeSelftest, selftests } from "../../support/make-selftest.js";
import { refusal } from "../../support/refusal.js";

for (const selftest of selftests) {
  const path = packagePath(`checkpoints/${selftest.checkpoint}/selftest.json`);
  test(`${selftest.checkpoint}: the committed selftest is the one made from the reference`, () => {
    assert.equal(readFileSync(path, "utf8"), makeSelftest(selftest));
  });
  test(`${selftest.checkpoint}: the committed selftest covers every file and both sides of 0.5 in both outputs`, () => {
    const { files, prompts, tolerance } = parseSelftest(JSON.parse(readFileSync(path, "utf8")));
    const names = ["model.onnx", "tokenizer.json", "tokenizer_config.json", "config.json"];
    assert.deepEqual(Object.keys(files), [
      "router.json",
      "router.safetensors",
      ...names.map((name) => `encoder/${name}`),
    ]);
    assert.ok(tolerance <= 2e-3);
    for (const { probabilities } of prompts) assert.equal(Object.keys(probabilities).length, 2);
    const weak = prompts.map(({ probabilities }) => Object.values(probabilities)[0]!);
    assert.ok(Math.max(...weak) - Math.min(...weak) > 100 * tolerance, "the prompts tell weights apart");
  });
}

describe("refused, by field", () => {
  const good = JSON.parse(makeSelftest(selftests[1]));
  const row = good.prompts[0];
  const cases: Readonly<Record<string, readonly [content: unknown, place: RegExp]>> = {
    "no object": [[], /the file/],
    "another version": [{ ...good, format_version: 2 }, /format_version/],
    "no reference": [{ ...good, reference: "" }, /reference/],
    "a tolerance that admits anything": [{ ...good, tolerance: 1 }, /tolerance/],
    "a tolerance of zero": [{ ...good, tolerance: 0 }, /tolerance/],
    "no prompts": [{ ...good, prompts: [] }, /prompts/],
    "an empty prompt": [{ ...good, prompts: [{ ...row, prompt: "" }] }, /prompts\.0\.prompt/],
    "no token ids": [{ ...good, prompts: [row, { ...row, input_ids: [] }] }, /prompts\.1\.input_ids/],
    "a fractional token id": [{ ...good, prompts: [{ ...row, input_ids: [1.5] }] }, /input_ids\.0/],
    "a probability above 1": [
      { ...good, prompts: [{ ...row, probabilities: { weak: 1.01 } }] },
      /prompts\.0\.probabilities\.weak/,
    ],
    "a hash that is none": [{ ...good, files: { "router.json": "abc" } }, /files\.router\.json/],
    "an unknown field": [{ ...good, tolerence: 1 }, /tolerence/],
  };
  for (const [name, [content, place]] of Object.entries(cases)) {
    test(name, () => {
      const { message } = refusal("checkpoint", () => parseSelftest(content));
      assert.match(message, /^selftest\.json: /);
      assert.match(message, place);
    });
  }
});
