import assert from "node:assert/strict";
import { test } from "node:test";
import { listWrongDecisions } from "../../../src/evaluate/wrong-decisions.js";
import { parseCsv, writeCsv } from "../../../src/labels/csv.js";
import { labelRow } from "../../support/train/reference.js";

test("wrong sides only, furthest from the threshold first, prompts whole", () => {
  const rows = [
    labelRow({ id: "right", labels: [true] }),
    labelRow({ id: "close", labels: [true], group: "g", split: "test" }),
    labelRow({ id: "far", labels: [false], text: 'two\nlines, "quoted"', source: "measured" }),
    labelRow({ id: "unknown", labels: [null] }),
    labelRow({ id: "unscored", labels: [false] }),
    labelRow({ id: "equal", labels: [false] }),
  ];
  const p = Float64Array.of(0.9, 0.45, 0.987654, 0.9, Number.NaN, 0.5);
  const records = listWrongDecisions(rows, p, { output: 0, threshold: 0.5 });
  assert.deepEqual(records, [
    ["id", "split", "group", "source", "p_solve", "solved", "error", "prompt"],
    ["far", "", "", "measured", "0.9877", "false", "weak_fails", 'two\nlines, "quoted"'],
    ["close", "test", "g", "", "0.4500", "true", "strong_wasted", "prompt of close"],
    ["equal", "", "", "", "0.5000", "false", "weak_fails", "prompt of equal"],
  ]);
  assert.deepEqual(
    [...parseCsv(writeCsv(records))].map(({ fields }) => fields),
    records,
  );
});
