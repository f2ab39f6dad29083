import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseScores } from "../../../src/evaluate/scores.js";
import { refusal } from "../../support/refusal.js";
import { labelRow } from "../../support/train/reference.js";

const labels = {
  rows: ["a", "b", "c"].map((id) => labelRow({ id, labels: [true, false] })),
  outputNames: ["weak", "strong"],
};
const lines = (...rows: unknown[]) => rows.map((row) => JSON.stringify(row)).join("\r\n");

test("a bare p_solve is about one output, in any order of rows; what is not recorded is NaN", () => {
  const byOutput = parseScores(
    lines({ id: "c", p_solve: 0.25, model: "judge" }, { id: "x", p_solve: 1 }, { id: "a", p_solve: 1 }),
    labels,
    0,
  );
  assert.deepEqual([...byOutput[0]!], [1, Number.NaN, 0.25]);
  assert.equal(byOutput[1], null);
});

test("probabilities by output, before the bare p_solve; outputs that are no model here are passed over", () => {
  const byOutput = parseScores(
    lines(
      { id: "a", p_solve: 0.9, probabilities: { weak: 0.9, strong: 0.8, other: 0.1 } },
      { id: "b", p_solve: 0.3, probabilities: { strong: null } },
    ),
    labels,
    1,
  );
  assert.deepEqual([...byOutput[0]!], [0.9, Number.NaN, Number.NaN]);
  assert.deepEqual([...byOutput[1]!], [0.8, 0.3, Number.NaN]);
});

test("an abstention is no score", () => {
  const byOutput = parseScores(
    lines({ id: "a", p_solve: 0, abstained: "deadline" }, { id: "b", p_solve: 0, abstained: null }),
    labels,
    0,
  );
  assert.deepEqual([...byOutput[0]!], [Number.NaN, 0, Number.NaN]);
});

describe("refused, by row, line and field", () => {
  const cases: Readonly<Record<string, readonly [content: string, message: RegExp]>> = {
    "no JSON": ["p", /^row 1 \(line 1\): found no JSON/],
    "no id": [lines({ p_solve: 1 }), /field id: found nothing, wanted the id/],
    "a p above 1": [
      lines({ id: "a", p_solve: 1.5 }),
      /field p_solve: found 1.5, wanted a number from 0 to 1/,
    ],
    "a p in words": [lines({ id: "a", p_solve: "0.5" }), /field p_solve: found a string/],
    "a p of an output below 0": [
      lines({ id: "a", probabilities: { weak: -0.1 } }),
      /field probabilities\.weak: found -0.1/,
    ],
    "scores of other rows alone": [
      lines({ id: "x", p_solve: 1 }, { id: "y", p_solve: 1 }),
      /^none of the 3 rows to evaluate has one of the 2 scores; give scores the ids of the label file$/,
    ],
    "abstentions alone": [lines({ id: "a", p_solve: 0, abstained: "deadline" }), /^none of the 3 rows/],
    "an id twice": [lines({ id: "a", p_solve: 1 }, { id: "a", p_solve: 1 }), /^row 2 \(line 2\), field id/],
  };
  for (const [name, [content, message]] of Object.entries(cases)) {
    test(name, () => {
      assert.match(refusal("usage", () => parseScores(content, labels, 0)).message, message);
    });
  }
});
