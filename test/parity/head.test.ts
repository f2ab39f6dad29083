// The head against the reference files of format router.json v1: probabilities within 1e-6.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { pooledKey } from "../../src/features/pooled.js";
import { probabilities } from "../../src/head/head.js";
import { fixturePath, largestDifference } from "../support/fixtures.js";

interface Expected {
  readonly output_names: readonly string[];
  readonly pooled: { readonly mean: Readonly<Record<string, readonly (readonly number[])[]>> };
  readonly probabilities: readonly (readonly number[])[];
}

for (const name of ["router-json-v1", "router-json-v1-four-outputs"]) {
  test(`${name}: probabilities equal the reference within 1e-6`, async (context) => {
    const folder = fixturePath(`checkpoints/${name}`);
    const { head } = await loadCheckpoint(folder);
    const expected = JSON.parse(readFileSync(`${folder}/expected.json`, "utf8")) as Expected;
    assert.deepEqual(head.outputNames, expected.output_names);
    let largest = 0;
    for (const [row, wanted] of expected.probabilities.entries()) {
      const pooled = new Map(
        Object.entries(expected.pooled.mean).map(([layer, rows]) => [
          pooledKey(Number(layer), "mean"),
          Float32Array.from(rows[row]!),
        ]),
      );
      largest = Math.max(largest, largestDifference(probabilities(head, pooled), wanted));
    }
    context.diagnostic(
      `${expected.probabilities.length} rows, largest difference: ${largest.toExponential(2)}`,
    );
    assert.ok(expected.probabilities.length > 0 && largest <= 1e-6, `differs by ${largest}`);
  });
}
