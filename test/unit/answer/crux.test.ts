// The fixed sentences: those of prompts/crux.json, and what else is refused.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crux, parseCruxSentences } from "../../../src/answer/crux.js";
import { abstainReasons } from "../../../src/judge/abstention-reasons.js";
import { packagePath, readJson } from "../../support/fixtures.js";
import { refusal } from "../../support/refusal.js";

const packaged = readJson<{ judged: string; abstained: Record<string, string> }>(
  packagePath("prompts/crux.json"),
);
const made = { judge: "my-judge", checkpoint: "0123456789abcdef", message: "first" as const };

test("the packaged sentences name judge and checkpoint, and leave no placeholder", () => {
  const sentences = parseCruxSentences(packaged);
  const judged = crux(sentences, made, null);
  assert.match(judged, /my-judge.*0123456789abcdef/);
  for (const reason of abstainReasons) {
    const sentence = crux(sentences, made, reason);
    assert.match(sentence, /my-judge abstains/);
    assert.doesNotMatch(sentence, /[{}]/);
  }
  assert.doesNotMatch(judged, /[{}]/);
});

test("every reason to abstain has a sentence of its own", () => {
  const sentences = parseCruxSentences(packaged);
  const all = [null, ...abstainReasons].map((reason) => crux(sentences, made, reason));
  assert.equal(new Set(all).size, abstainReasons.length + 1);
});

test("a placeholder is filled wherever it stands, as often as it stands", () => {
  const sentences = parseCruxSentences({ ...packaged, judged: "{checkpoint} {judge} {judge}" });
  assert.equal(crux(sentences, made, null), "0123456789abcdef my-judge my-judge");
});

test("a judge's name is put in as it is, whatever characters it has", () => {
  const sentences = parseCruxSentences({ ...packaged, judged: "By {judge} ({checkpoint})." });
  for (const judge of ["cost$$1", "$&", "$`", "a{checkpoint}b", "{judge}"]) {
    assert.equal(crux(sentences, { ...made, judge }, null), `By ${judge} (0123456789abcdef).`);
  }
});

describe("sentences are refused by name", () => {
  const { deadline: _, ...withoutDeadline } = packaged.abstained;
  const cases: Readonly<Record<string, readonly [content: unknown, place: RegExp]>> = {
    "no object": [null, /the file/],
    "no sentence for judged prompts": [{ abstained: packaged.abstained }, /judged/],
    "a blank sentence": [{ ...packaged, judged: " " }, /judged/],
    "a reason without a sentence": [{ ...packaged, abstained: withoutDeadline }, /abstained\.deadline/],
    "a blank sentence for a reason": [
      { ...packaged, abstained: { ...packaged.abstained, internal: "" } },
      /abstained\.internal/,
    ],
    "a reason that does not exist": [
      { ...packaged, abstained: { ...packaged.abstained, mood: "x" } },
      /abstained.*mood/,
    ],
    "an unknown key": [{ ...packaged, jugded: "x" }, /jugded/],
  };
  for (const [name, [content, place]] of Object.entries(cases)) {
    test(name, () => {
      const { message } = refusal("config", () => parseCruxSentences(content));
      assert.match(message, /^prompts\/crux\.json: /);
      assert.match(message, place);
    });
  }
});
