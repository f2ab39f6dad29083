// The readers of .pt files against the reference files of llm-router and Switchyard 0.3.0: probabilities
// within 1e-6.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import type { CheckpointFormat } from "../../src/checkpoint/checkpoint-content.js";
import { parseTorchCheckpoint } from "../../src/checkpoint/torch/torch-checkpoint.js";
import { pooledKey } from "../../src/features/pooled.js";
import { probabilities } from "../../src/head/head.js";
import { fixturePath, largestDifference, readJson } from "../support/fixtures.js";

interface Expected {
  readonly output_names: readonly string[];
  /** mode → layer → row → values */
  readonly pooled: Readonly<
    Partial<Record<"mean" | "last", Readonly<Record<string, readonly (readonly number[])[]>>>>
  >;
  readonly probabilities: readonly (readonly number[])[];
}

const formats: Readonly<Record<string, CheckpointFormat>> = {
  "llm-router/v2-one-target": "llm-router-2",
  "llm-router/v2-per-target": "llm-router-2",
  "llm-router/v2-whitened-protocol-4": "llm-router-2",
  "llm-router/v3-shared-once": "llm-router-3",
  "switchyard-0.3.0/four-models": "switchyard-0.3.0",
  "switchyard-0.3.0/two-models": "switchyard-0.3.0",
};

function pooledOf(expected: Expected, row: number): Map<ReturnType<typeof pooledKey>, Float32Array> {
  const pooled = new Map<ReturnType<typeof pooledKey>, Float32Array>();
  for (const mode of ["mean", "last"] as const) {
    for (const [layer, rows] of Object.entries(expected.pooled[mode] ?? {})) {
      pooled.set(pooledKey(Number(layer), mode), Float32Array.from(rows[row]!));
    }
  }
  return pooled;
}

for (const [name, format] of Object.entries(formats)) {
  test(`${name}: probabilities equal the reference within 1e-6`, (context) => {
    const content = parseTorchCheckpoint(readFileSync(fixturePath(`checkpoints/${name}.pt`)));
    const expected = readJson<Expected>(fixturePath(`checkpoints/${name}.expected.json`));
    assert.equal(content.format, format);
    assert.deepEqual(content.head.outputNames, expected.output_names);
    let largest = 0;
    for (const [row, wanted] of expected.probabilities.entries()) {
      largest = Math.max(
        largest,
        largestDifference(probabilities(content.head, pooledOf(expected, row)), wanted),
      );
    }
    context.diagnostic(
      `${expected.probabilities.length} rows, largest difference: ${largest.toExponential(2)}`,
    );
    assert.ok(expected.probabilities.length > 0 && largest <= 1e-6, `differs by ${largest}`);
  });
}

test("every reference file is held to its values", () => {
  const files = ["llm-router", "switchyard-0.3.0"].flatMap((folder) =>
    readdirSync(fixturePath(`checkpoints/${folder}`)).map((file) => `${folder}/${file}`),
  );
  const names = files.filter((file) => file.endsWith(".pt")).map((file) => file.replace(/\.pt$/, ""));
  assert.deepEqual(names.sort(), Object.keys(formats).sort());
});
