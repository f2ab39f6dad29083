// The search for the names of captured rows, on PyTorch's hidden states of the tiny encoder.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findLabelling, type Labelling, type LabellingFinding } from "../../../src/doctor/labelling.js";
import { labellingAdvice } from "../../../src/doctor/labelling-text.js";
import { tinyRows } from "../../support/fixtures.js";
import { layeredHead, pooledAs, referenceOf } from "../../support/layered-checkpoint.js";

const tolerance = 1e-4;

/** @param captured the layers that the rows really are, in their order */
async function search(
  wanted: readonly number[],
  captured: readonly number[],
  { capturedLayers, layerOffset }: Labelling,
  noise = 0,
): Promise<LabellingFinding> {
  const head = await layeredHead(wanted);
  const names = capturedLayers.map((layer) => layer + layerOffset);
  const samples = tinyRows().map((row) => {
    const pooled = new Map(pooledAs(row, captured, names));
    for (const [key, vector] of pooled)
      pooled.set(
        key,
        vector.map((value) => value * (1 + noise)),
      );
    return { pooled, probabilities: referenceOf(head, row) };
  });
  return findLabelling(head, samples, { capturedLayers, layerOffset }, tolerance);
}

const found = (finding: LabellingFinding) => [
  finding.kind,
  finding.best?.labellings,
  finding.best?.isConfigured,
];
const label = (capturedLayers: readonly number[], layerOffset = 0): Labelling => ({
  capturedLayers,
  layerOffset,
});

test("rows that are named right fit as they are named, and no other way", async () => {
  const finding = await search([3, 4, 5, 6], [2, 3, 4, 5, 6, 7], label([2, 3, 4, 5, 6, 7]));
  assert.deepEqual(found(finding), ["fits", [label([2, 3, 4, 5, 6, 7])], true]);
  assert.ok(finding.best!.difference < 1e-6);
  assert.ok(finding.nextDifference! > 100 * tolerance, String(finding.nextDifference));
});

test("rows that are off by one or two are found by the offset", async () => {
  const wanted = [3, 4, 5, 6];
  for (const shift of [-2, -1, 1, 2]) {
    const captured = [1, 2, 3, 4, 5, 6, 7, 8];
    const ids = captured.map((layer) => layer + 2 - shift);
    const finding = await search(wanted, captured, label(ids, -2));
    assert.deepEqual(found(finding), ["fits", [label(ids, shift - 2)], false], `shift ${shift}`);
  }
});

test("an offset beside 0 is found from a configured one that is far from it", async () => {
  const finding = await search([3, 4, 5, 6], [3, 4, 5, 6], label([2, 3, 4, 5], 9));
  assert.deepEqual(found(finding), ["fits", [label([2, 3, 4, 5], 1)], false]);
});

test("rows in reverse, sorted or, when they are few, in any order are found", async () => {
  for (const [captured, given] of [
    [
      [6, 5, 4, 3],
      [3, 4, 5, 6],
    ],
    [
      [3, 4, 5, 6],
      [5, 3, 6, 4],
    ],
    [
      [4, 3, 6, 5],
      [3, 4, 5, 6],
    ],
    [
      [7, 6, 5, 4, 3, 2],
      [2, 3, 4, 5, 6, 7],
    ],
  ] as const) {
    const finding = await search([3, 4, 5, 6], captured, label(given));
    assert.deepEqual(found(finding), ["fits", [label(captured)], false], String(captured));
  }
});

test("order and offset are found together", async () => {
  const finding = await search([3, 4, 5, 6], [6, 5, 4, 3], label([2, 3, 4, 5]));
  assert.deepEqual(found(finding), ["fits", [label([5, 4, 3, 2], 1)], false]);
});

test("ways that a head cannot tell apart are all named", async () => {
  // the end of the list: an offset of 2 or the reverse order put the same row there
  const finding = await search([4, 4, 4, 4], [4, 3, 2], label([2, 3, 4]));
  assert.deepEqual(found(finding), ["fits", [label([2, 3, 4], 2), label([4, 3, 2])], false]);
  assert.match(
    labellingAdvice(finding, "m"),
    /fit when captured_layers = \[2, 3, 4\], layer_offset = 2, or captured_layers = \[4, 3, 2\], layer_offset = 0:/,
  );
});

test("where nothing fits and neighbours are missing, they are to be captured", async () => {
  const finding = await search([3, 4, 5, 6], [2, 3, 4, 5], label([3, 4, 5, 6]));
  assert.equal(finding.kind, "neighbours");
  assert.deepEqual(finding.capture, [2, 3, 4, 5, 6, 7]);
  assert.match(
    labellingAdvice(finding, "m"),
    /captured_layers = \[2, 3, 4, 5, 6, 7\], and run prefill-judge doctor/,
  );
  const single = await search([4, 4, 4, 4], [3], label([5], -1));
  assert.deepEqual([single.kind, single.capture], ["neighbours", [4, 5, 6]]);
});

test("layers that no name gives are not invented", async () => {
  const finding = await search([8, 8, 8, 8], [0, 1], label([0, 1]));
  assert.deepEqual([finding.kind, finding.best, finding.nextDifference], ["neighbours", null, null]);
});

test("another model fits in no way", async () => {
  const rows = [8, 0, 8, 0, 8, 0];
  const finding = await search([3, 4, 5, 6], rows, label([2, 3, 4, 5, 6, 7]));
  assert.equal(finding.kind, "none");
  assert.match(labellingAdvice(finding, "org/m"), /no order or offset .* another model, .* serve org\/m/);
});

test("another precision is told by being far nearer than every other reading", async () => {
  const finding = await search([3, 4, 5, 6], [2, 3, 4, 5, 6, 7], label([2, 3, 4, 5, 6, 7]), 0.002);
  assert.deepEqual(found(finding), ["close", [label([2, 3, 4, 5, 6, 7])], true]);
  assert.ok(finding.best!.difference > tolerance);
  assert.match(labellingAdvice(finding, "m"), /named right .* another precision\?/);
});

test("rows that are alike fit in several ways", async () => {
  const finding = await search([3, 3, 3, 3], [3, 3, 3], label([2, 3, 4]));
  assert.equal(finding.kind, "several");
  assert.equal(finding.best?.difference, 0);
});
