import assert from "node:assert/strict";
import { test } from "node:test";
import { findOverlap, refuseOverlap } from "../../../src/train/overlap.js";
import { refusal } from "../refusal.js";

const train = [
  { id: "t1", text: "What is  2+2?" },
  { id: "t2", text: "Name a bird" },
];

test("equal after normalisation is the same row, and nothing else", () => {
  const rows = [
    { id: "a", text: "what is 2+2? " },
    { id: "b", text: "What is 2 + 2?" },
    { id: "t2", text: "NAME\na bird" },
  ];
  assert.deepEqual(findOverlap(train, rows), [
    { id: "a", trainId: "t1" },
    { id: "t2", trainId: "t2" },
  ]);
  const { message } = refusal("usage", () => refuseOverlap(train, rows));
  assert.match(
    message,
    /^2 of 3 rows to measure on are rows of the training: "a" \("t1" in training\), "t2";/,
  );
});

test("no overlap, no refusal", () => {
  refuseOverlap(train, [{ id: "c", text: "Name a fish" }]);
  refuseOverlap([], train);
});

test("a long list is cut, with the number that is left out", () => {
  const many = Array.from({ length: 60 }, (_, index) => ({ id: `row ${index}`, text: `text ${index}` }));
  const { message } = refusal("usage", () => refuseOverlap(many, many));
  assert.match(message, /^60 of 60 rows .*"row 49" and 10 more;/);
});
