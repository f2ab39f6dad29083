// What a training says against its own judge, on features from which one output can be told and another
// cannot.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Terminal } from "../../src/cli/terminal.js";
import { fitCalibrated } from "../../src/cli/train/train-fit.js";
import type { FitInput } from "../../src/train/fit/fit.js";
import { createRandom } from "../../src/train/numeric/random.js";
import { toyInput } from "../support/train/fit-reference.js";

const terminal = { note() {} } as unknown as Terminal;
const choice = { pca: 6, calibration: true, threads: 2 };

/** The first output as it is; the second's labels dealt out anew, so that the features tell nothing of it. */
function halfNoise(seed: number): FitInput {
  const input = toyInput(240);
  const dealt = Uint32Array.from(input.labels, ({ labels }) => labels[1]!);
  createRandom(seed).shuffle(dealt);
  const labels = input.labels.map((row, index) => ({ ...row, labels: [row.labels[0]!, dealt[index]!] }));
  return { ...input, outputNames: ["told", "noise"], labels };
}

test("an output that the features do not tell has a warning with its AUC, the other none", async () => {
  const { warnings, aucOutOfFold, weights } = await fitCalibrated(halfNoise(1), choice, terminal);
  const [told, noise] = aucOutOfFold!;
  assert.ok(told!.low! > 0.8, `${told!.low}`);
  assert.ok(noise!.low! <= 0.5 && noise!.auc! > noise!.low!);
  assert.ok(weights.calibration[0]!.slope > 0);
  assert.equal(weights.calibration[1], null);
  assert.equal(warnings.length, 2, warnings.join());
  const figures = [noise!.auc, noise!.low, noise!.high].map((part) => part!.toFixed(3));
  const [value, low, high] = figures;
  assert.ok(warnings[0]!.includes(`AUC ${value} [${low}, ${high}] out of fold does not differ from chance`));
  assert.match(
    warnings[1]!,
    /^noise: the calibration has slope -\d\.\d\d, which would turn the judge upside down/,
  );
});
