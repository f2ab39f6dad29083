// Merging of records, and what is told of labels.
import assert from "node:assert/strict";
import { test } from "node:test";
import { expectedInterval } from "../../../src/evaluate/expected-interval.js";
import { parseLabels, withOutputs } from "../../../src/labels/labels.js";
import { countLabels, labelProblems } from "../../../src/labels/report.js";
import { refusal } from "../../support/refusal.js";
import { labelRow } from "../../support/train/reference.js";
import { textReader } from "../../support/train/text-reader.js";

const parse = (...rows: unknown[]) =>
  parseLabels(rows.map((row) => JSON.stringify(row)).join("\n"), "jsonl", textReader);

test("duplicates by white space and case become one row that keeps the first's text and id", () => {
  const { rows } = parse(
    { id: "a", prompt: "What  is\n2+2?", labels: { weak: true } },
    { id: "b", prompt: " what is 2+2? ", labels: { weak: true, strong: false } },
    { id: "c", prompt: "What is 2+3?", labels: { weak: true } },
  );
  assert.deepEqual(
    rows.map(({ id, text, labels, copies }) => ({ id, text, labels, copies })),
    [
      { id: "a", text: "What  is\n2+2?", labels: [1, 0], copies: 2 },
      { id: "c", text: "What is 2+3?", labels: [1, null], copies: 1 },
    ],
  );
});

test("answers to one prompt become their mean, by the number of answers; null is none", () => {
  const { rows, outputNames } = parse(
    { id: "a", prompt: "q", labels: { weak: true, strong: true } },
    { id: "b", prompt: "Q", labels: { weak: false, strong: true } },
    { id: "c", prompt: "q ", labels: { weak: true, strong: null } },
    { id: "d", prompt: "r", labels: { weak: 0.25, strong: 0.5 }, samples: { weak: 4 } },
    { id: "e", prompt: "R", labels: { weak: 1, strong: null }, samples: { weak: 2, strong: 5 } },
  );
  assert.deepEqual(
    rows.map(({ labels, samples, copies }) => ({ labels, samples, copies })),
    [
      { labels: [2 / 3, 1], samples: [3, 2], copies: 3 },
      { labels: [0.5, 0.5], samples: [6, 1], copies: 2 },
    ],
  );
  const [weak, strong] = countLabels(rows, outputNames);
  assert.deepEqual([weak!.rows, weak!.answers, weak!.mixed], [2, 9, 2]);
  assert.ok(Math.abs(weak!.solved - 7 / 6) < 1e-12 && Math.abs(weak!.failed - 5 / 6) < 1e-12);
  assert.deepEqual(strong, {
    output: "strong",
    rows: 2,
    solved: 1.5,
    failed: 0.5,
    missing: 0,
    answers: 3,
    mixed: 1,
  });
});

test("a missing label is filled by a known one", () => {
  const { rows } = parse(
    { prompt: "q", labels: { weak: null, strong: true } },
    { prompt: "q", labels: { weak: false, strong: null } },
  );
  assert.deepEqual(rows[0]?.labels, [0, 1]);
  assert.deepEqual(rows[0]?.samples, [1, 1]);
});

test("of group, source and weight that disagree the first stays", () => {
  const { rows } = parse(
    { id: "a", prompt: "q", group: "g", source: "measured", weight: 2, labels: { m: true } },
    { id: "b", prompt: "q", group: "h", source: "distilled", labels: { m: true } },
  );
  assert.deepEqual([rows[0]?.group, rows[0]?.source, rows[0]?.weight], ["g", "measured", 2]);
});

test("one prompt in two splits stays two rows", () => {
  const { rows } = parse(
    { id: "a", prompt: "q", split: "train", labels: { m: true } },
    { id: "b", prompt: "Q", split: "test", labels: { m: false } },
    { id: "c", prompt: "other", split: "test", labels: { m: false } },
  );
  assert.deepEqual(
    rows.map(({ id, split, labels }) => [id, split, labels]),
    [
      ["a", "train", [1]],
      ["b", "test", [0]],
      ["c", "test", [0]],
    ],
  );
});

test("an id of two different prompts is refused by both rows", () => {
  const { message } = refusal("usage", () =>
    parse({ id: "a", prompt: "q", labels: { m: true } }, { id: "a", prompt: "r", labels: { m: true } }),
  );
  assert.match(message, /^row 2 \(line 2\), id: found "a" again, which row 1 has for another prompt/);
});

test("an id may come again with its prompt, as in a file of one record for each model", () => {
  const { rows } = parse(
    { id: "a", prompt: "q", labels: { weak: true } },
    { id: "a", prompt: "q", labels: { strong: true } },
  );
  assert.deepEqual(rows[0]?.labels, [1, 1]);
  assert.equal(rows[0]?.copies, 1);
});

test("counts and problems by output", () => {
  const rows = Array.from({ length: 300 }, (_, index) =>
    labelRow({
      id: `${index}`,
      labels: [index % 2 === 0, true, null, index === 0, index < 100 ? index > 50 : null],
    }),
  );
  const counts = countLabels(rows, ["good", "all", "none", "rare", "few"]);
  const { good, few } = Object.fromEntries(counts.map(({ output, ...count }) => [output, count]));
  const one = { mixed: 0 };
  assert.deepEqual(good, { rows: 300, solved: 150, failed: 150, missing: 0, answers: 300, ...one });
  assert.deepEqual(few, { rows: 100, solved: 49, failed: 51, missing: 200, answers: 100, ...one });
  assert.deepEqual(labelProblems(counts), [
    { kind: "one_class", output: "all" },
    { kind: "no_labels", output: "none" },
    { kind: "rare_class", output: "rare", rows: 1, wanted: 30 },
    { kind: "few_rows", output: "few", rows: 100, wanted: 200 },
  ]);
});

test("below 1,000 rows an AUC's interval is told, by number and base rate", () => {
  const of = (solved: number, failed: number) =>
    expectedInterval({
      output: "weak",
      rows: solved + failed,
      solved,
      failed,
      missing: 9,
      answers: 0,
      mixed: 0,
    });
  assert.deepEqual([of(500, 500), of(0, 300), of(300, 0)], [null, null, null]);
  const [balanced, rare] = [of(250, 250)!, of(50, 450)!];
  assert.deepEqual([balanced.auc, balanced.wanted], [0.7, 1000]);
  assert.ok(Math.abs(balanced.halfWidth - 0.0456) < 1e-4, String(balanced.halfWidth));
  assert.ok(Math.abs(rare.halfWidth - 0.0841) < 1e-4, String(rare.halfWidth));
});

test("labels in the order of a checkpoint's outputs, null for what they lack", () => {
  const labels = parse({ prompt: "q", labels: { weak: true, strong: false } });
  assert.deepEqual(withOutputs(labels, ["strong", "other", "weak"])[0]?.labels, [0, null, 1]);
  assert.deepEqual(withOutputs(labels, ["strong", "other"])[0]?.samples, [1, 0]);
});
