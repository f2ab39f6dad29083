import assert from "node:assert/strict";
import { test } from "node:test";
import { fitConstant, fitFloors, fitGroupRate, fitText } from "../../../src/train/floors.js";
import { assertClose, labelRow } from "../../support/train/reference.js";

const rows = [
  labelRow({ id: "a", group: "sums", labels: [true, null, true] }),
  labelRow({ id: "b", group: "sums", labels: [false, null, true], weight: 3 }),
  labelRow({ id: "c", group: "words", labels: [true, null, true] }),
  labelRow({ id: "d", group: "words", labels: [null, null, true], weight: 100 }),
];
const asked = [
  labelRow({ id: "x", group: "sums" }),
  labelRow({ id: "y", group: "words" }),
  labelRow({ id: "z", group: "unseen" }),
  labelRow({ id: "n", group: null }),
];

test("the constant is the weighted share solved of the labelled rows; half without any", () => {
  const predicted = fitConstant(rows, 3).predict(asked);
  assert.deepEqual(
    predicted.map((values) => [...values]),
    [
      [0.4, 0.4, 0.4, 0.4],
      [0.5, 0.5, 0.5, 0.5],
      [1, 1, 1, 1],
    ],
  );
});

test("the group's rate, and the overall one for an unknown group", () => {
  assert.deepEqual(
    fitGroupRate(rows, 2)
      .predict(asked)
      .map((values) => [...values]),
    [
      [0.25, 1, 0.4, 0.4],
      [0.5, 0.5, 0.5, 0.5],
    ],
  );
});

test("the text floor learns words, leaves masked labels out, and is constant for one class", () => {
  const train = Array.from({ length: 80 }, (_, index) =>
    labelRow({
      id: `${index}`,
      text: index % 2 === 0 ? `Multiply ${index} by three` : `Name the capital of land ${index}`,
      // the masked rows would teach the opposite
      labels: [index < 40 ? index % 2 === 1 : null, null, false],
    }),
  );
  const [first, second, third] = fitText(train, 3).predict([
    labelRow({ id: "m", text: "multiply 7 by three" }),
    labelRow({ id: "c", text: "name the capital" }),
  ]);
  assert.ok(first![0]! < 0.2 && first![1]! > 0.8, `${first}`);
  assert.deepEqual([...second!], [0.5, 0.5]);
  assert.deepEqual([...third!], [0, 0]);
});

test("a floor for each name, with a value for each output and row", () => {
  const floors = fitFloors(rows, 3);
  assert.deepEqual(
    floors.map(({ name }) => name),
    ["constant", "group base rate", "TF-IDF"],
  );
  for (const floor of floors) {
    const predicted = floor.predict(asked);
    assert.deepEqual(
      predicted.map(({ length }) => length),
      [4, 4, 4],
    );
  }
  assertClose(floors[0]!.predict(asked)[0]![0], 0.4);
});
