import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { auc, createSample } from "../../../src/evaluate/metrics.js";
import { type FitInput, fitBlock } from "../../../src/train/fit/fit.js";
import { selectRows, splitFolds } from "../../../src/train/fit/folds.js";
import { fitLogistic, predictLogistic } from "../../../src/train/fit/logistic.js";
import { denseDesign } from "../../../src/train/numeric/design.js";
import { createRandom } from "../../../src/train/numeric/random.js";
import { blockFeatures } from "../../../src/train/predict.js";
import { estimateMeanAuc, sweepPca } from "../../../src/train/sweep.js";
import { labelRow } from "../../support/train/reference.js";

const folds = { folds: 5, seed: 3 };
const columns = 6;

/** Rows of noise; `tell` decides each row's labels from its features. */
function inputOf(rows: number, tell: (features: Float32Array, row: number) => (boolean | null)[]): FitInput {
  const random = createRandom(5);
  const data = Float32Array.from({ length: rows * columns }, () => random.uniform() - 0.5);
  const labels = Array.from({ length: rows }, (_, row) =>
    labelRow({
      id: `${row}`,
      labels: tell(data.subarray(row * columns, (row + 1) * columns), row),
      weight: 1 + (row % 3),
    }),
  );
  const outputNames = labels[0]!.labels.map((_, output) => `output ${output}`);
  return {
    view: { layers: [2], pooling: "last", hiddenSize: columns },
    table: { rows, columns, data },
    outputNames,
    labels,
  };
}

test("each size is what a PCA of that size alone, and a logistic regression on it, come to", async () => {
  const input = inputOf(60, (features) => [features[0]! + features[1]! > 0, features[4]! > 0.1]);
  const points = await sweepPca(input, { pcaSizes: [2, 5], folds });
  for (const { pcaSize, auc: found, predicted } of points) {
    for (const { trainRows, testRows } of splitFolds(60, folds)) {
      const train = selectRows(input.table, trainRows);
      const { block } = fitBlock({ view: input.view, table: train }, pcaSize);
      for (const output of [0, 1]) {
        const own = [...trainRows].map((row) => input.labels[row]!);
        const model = fitLogistic(
          denseDesign(blockFeatures(block, train), pcaSize),
          Uint8Array.from(own, ({ labels }) => Number(labels[output])),
          { sampleWeight: Float64Array.from(own, ({ weight }) => weight) },
        );
        const test = blockFeatures(block, selectRows(input.table, testRows));
        predictLogistic(model, denseDesign(test, pcaSize)).forEach((p, place) => {
          assert.ok(Math.abs(p - predicted[testRows[place]! * 2 + output]!) < 1e-3);
        });
      }
    }
    found.forEach((value, output) => {
      const p = Float64Array.from(input.labels, (_, row) => predicted[row * 2 + output]!);
      const solved = Uint8Array.from(input.labels, ({ labels }) => Number(labels[output]));
      const weight = Float64Array.from(input.labels, (row) => row.weight);
      assert.equal(value, auc(createSample(p, solved), weight));
    });
  }
});

test("what the features tell is found, and chance is not: the figures are out of fold", async () => {
  const random = createRandom(11);
  const input = inputOf(150, (features) => [features[2]! > 0, random.uniform() > 0.5]);
  const [point] = await sweepPca(input, { pcaSizes: [6], folds });
  const [told, chance] = point!.auc;
  assert.ok(told! > 0.95, `${told}`);
  assert.ok(chance! > 0.35 && chance! < 0.65, `${chance}`);
  assert.equal(point!.meanAuc, (told! + chance!) / 2);
});

describe("labels with gaps", () => {
  test("are left out, in training and in the AUC", async () => {
    const full = inputOf(100, (features) => [features[0]! > 0]);
    // wrong where it is masked: whoever looked would do worse
    const masked = inputOf(100, (features, row) => [row % 2 === 0 ? features[0]! > 0 : null]);
    const wrong = inputOf(100, (features, row) => [features[0]! > 0 === (row % 2 === 0)]);
    const aucOf = async (input: FitInput) => (await sweepPca(input, { pcaSizes: [6], folds }))[0]!.auc[0]!;
    assert.ok((await aucOf(full)) > 0.95);
    assert.ok((await aucOf(masked)) > 0.9);
    assert.ok((await aucOf(wrong)) < 0.7);
  });

  test("of one class have no AUC and do not count in the mean; a fold without a class still predicts", async () => {
    const input = inputOf(40, (features, row) => [features[0]! > 0, true, row === 7, null]);
    const [point] = await sweepPca(input, { pcaSizes: [4], folds });
    const [told, one, rare, none] = point!.auc;
    assert.deepEqual([one, none], [null, null]);
    assert.ok(told !== null && rare !== null);
    assert.equal(point!.meanAuc, (told! + rare!) / 2);
    assert.ok(point!.predicted.every(Number.isFinite));
  });
});

test("the interval is around the mean AUC, and the seed decides it", async () => {
  const input = inputOf(120, (features, row) => [features[1]! > 0 !== (row % 5 === 0), features[3]! > 0]);
  const [point] = await sweepPca(input, { pcaSizes: [6], folds });
  const estimate = (seed: number) =>
    estimateMeanAuc(point!.predicted, input.labels, { seed, resamples: 200 });
  const { value, low, high } = estimate(1);
  assert.equal(value, point!.meanAuc);
  assert.ok(low! < value! && value! < high!);
  assert.deepEqual(estimate(1), estimate(1));
  assert.notDeepEqual(estimate(1), estimate(2));
});

test("a size that the folds cannot give is refused", async () => {
  const input = inputOf(20, (features) => [features[0]! > 0]);
  await assert.rejects(sweepPca(input, { pcaSizes: [2, 7], folds }), RangeError);
});
