import assert from "node:assert/strict";
import { test } from "node:test";
import { findOverlap, refuseOverlap, withoutOverlap } from "../../../src/labels/overlap.js";
import { refusal } from "../../support/refusal.js";

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

test("what a reader does not see makes no other row: composed letters, zero-width and other invisible characters", () => {
  const accents = [{ id: "t", text: "Où est le café\u0301 d'Élise, à Ångström?" }];
  const same = [
    "Où est le café\u0301 d'Élise, à Ångström?".normalize("NFD"),
    "Où est\u200B le ca\u00ADfé\u0301 d'É\u200Dlise, à Ång\u2060ström?\uFEFF",
    "\u202AOu\u200C\u0300 est le café\u0301 d'E\u0301lise, à \u212Bngström?\u202C",
  ];
  assert.equal(
    findOverlap(
      accents,
      same.map((text, index) => ({ id: `${index}`, text })),
    ).length,
    3,
  );
  const others = ["Ou est le café\u0301 d'Élise, à Ångström?", "Où est le café d'Élise, à Ångström?"];
  assert.deepEqual(
    findOverlap(
      accents,
      others.map((text, index) => ({ id: `${index}`, text })),
    ),
    [],
  );
});

test("overlapping rows can be left out, which the refusal says with their number", () => {
  const rows = [
    { id: "a", text: "what is 2+2? " },
    { id: "b", text: "What is 2 + 2?" },
  ];
  assert.deepEqual(withoutOverlap(train, rows), [rows[1]]);
  const { message } = refusal("usage", () => refuseOverlap(train, rows));
  assert.match(message, /or leave these 1 out with --drop-overlap$/);
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
