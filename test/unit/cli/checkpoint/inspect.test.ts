// inspect without a process: what it says of the embedded judges and of the fixtures of format 1.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadCheckpoint } from "../../../../src/checkpoint/load.js";
import { inspect } from "../../../../src/cli/checkpoint/inspect.js";
import type { Terminal } from "../../../../src/cli/terminal.js";
import { fixturePath, packagePath, readJson } from "../../../support/fixtures.js";

async function printed(path: string, json: boolean): Promise<string> {
  const lines: string[] = [];
  await inspect(path, { json }, { print: (line: string) => lines.push(line) } as unknown as Terminal);
  return lines.join("\n");
}

const embedded = ["smollm2-135m", "minilm-l6"].map((name) => packagePath(`checkpoints/${name}`));
const fixtures = ["", "-four-outputs"].map((name) => fixturePath(`checkpoints/router-json-v1${name}`));
const subjects = [
  ...embedded.map((path) => ({ path, format: "router-json-2", calibrated: true })),
  ...fixtures.map((path) => ({ path, format: "router-json-1", calibrated: false })),
];
for (const { path, format, calibrated } of subjects) {
  test(`${path.split("/").at(-1)}, as text and as JSON`, async () => {
    const { hash, head, encoderName, selftest } = await loadCheckpoint(path);
    const facts = JSON.parse(await printed(path, true));
    assert.deepEqual([facts.path, facts.format, facts.hash], [path, format, hash]);
    assert.deepEqual([facts.encoder, facts.message], [encoderName, "first"]);
    const { layers, pcaSize: pca, hiddenSize } = head.blocks[0]!;
    const features = layers.length * hiddenSize;
    const block = { layers, pooling: "mean", combination: "concat", hidden_size: hiddenSize, features, pca };
    assert.deepEqual(facts.blocks, [block]);
    assert.equal(facts.members.count, head.members.length);
    const { calibration } = head;
    assert.equal(
      calibration.every((entry) => entry !== null),
      calibrated,
    );
    const outputs = head.outputNames.map((name, index) => ({
      name,
      cost: null,
      calibration: calibration[index],
    }));
    assert.deepEqual(facts.outputs, outputs);
    assert.equal(/no calibration/.test(facts.problems.join()), !calibrated);
    assert.equal(facts.selftest_prompts, selftest?.prompts.length ?? 0);
    assert.equal(/no selftest/.test(facts.problems.join()), selftest === null);
    const text = await printed(path, false);
    const parts = [path, format, hash, encoderName, ...head.outputNames];
    for (const part of [...parts, ...facts.problems, `${features} → PCA ${pca}`])
      assert.ok(text.includes(part), part);
  });
}

test("repeats what the training warned of, and finds a calibration that turns the judge upside down", async () => {
  const folder = mkdtempSync(join(tmpdir(), "judge-inspect-"));
  try {
    cpSync(embedded[1]!, folder, { recursive: true });
    const file = join(folder, "router.json");
    const metadata = readJson<{ training: object; calibration: { slope: number }[]; output_names: string[] }>(
      file,
    );
    metadata.training = { ...metadata.training, warnings: ["weak: AUC 0.5 out of fold does not differ"] };
    metadata.calibration[1]!.slope *= -1;
    writeFileSync(file, JSON.stringify(metadata));
    const { problems } = JSON.parse(await printed(folder, true));
    assert.equal(problems[0], "weak: AUC 0.5 out of fold does not differ");
    const [, second] = metadata.output_names;
    assert.ok(problems[1].startsWith(`${second}: its calibration has no positive slope`), problems[1]);
    assert.equal(problems.length, 2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
