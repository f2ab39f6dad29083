// How well a layer's features tell solved from unsolved, by out-of-fold logistic regression.
import { aucMeters } from "../evaluate/auc-meters.js";
import { type BootstrapOptions, bootstrap, type Estimate } from "../evaluate/bootstrap.js";
import { labelWeight } from "../labels/label-row.js";
import { type FitInput, fitBlock } from "./fit/fit.js";
import { type Fold, type FoldOptions, outOfFold, selectRows } from "./fit/folds.js";
import { fitLogistic, predictLogistic } from "./fit/logistic.js";
import { denseDesign } from "./numeric/design.js";
import { blockFeatures } from "./predict.js";

type SweepLabels = FitInput["labels"];

export interface SweepPoint {
  readonly pcaSize: number;
  /** by output; null where the labels are of one class */
  readonly auc: readonly (number | null)[];
  /** of the outputs that have an AUC */
  readonly meanAuc: number | null;
  /** [rows, outputs], out of fold */
  readonly predicted: Float64Array;
}

/** scikit-learn's; a closer minimum does not change an order of probabilities that matters */
const tolerance = 1e-4;

/**
 * One point for each PCA size; each fold has one PCA, since smaller ones are the start of larger ones.
 * @param pcaSizes at most the columns, and the rows of the smallest fold's training
 * @throws RangeError for a size that is larger
 */
export async function sweepPca(
  input: FitInput,
  { pcaSizes, folds }: { pcaSizes: readonly number[]; folds: FoldOptions },
): Promise<SweepPoint[]> {
  const { rows } = input.table;
  const outputs = input.outputNames.length;
  const width = pcaSizes.length * outputs;
  const size = { rows, outputs: width };
  const predicted = await outOfFold(size, folds, async (fold) => predictFold(input, fold, pcaSizes));
  return pcaSizes.map((pcaSize, place) => {
    const own = new Float64Array(rows * outputs);
    for (let row = 0; row < rows; row++) {
      const start = row * width + place * outputs;
      own.set(predicted.subarray(start, start + outputs), row * outputs);
    }
    const once = new Float64Array(rows).fill(1);
    const byOutput = aucMeters(own, input.labels).map((meter) => meter(once));
    return { pcaSize, auc: byOutput, meanAuc: meanOf(byOutput), predicted: own };
  });
}

/** The mean AUC of out-of-fold predictions with its interval over the rows. */
export function estimateMeanAuc(
  predicted: Float64Array,
  labels: SweepLabels,
  options: BootstrapOptions,
): Estimate {
  const meters = aucMeters(predicted, labels);
  const statistics = (drawn: Float64Array) => [meanOf(meters.map((meter) => meter(drawn)))];
  return bootstrap(labels.length, statistics, options)[0]!;
}

/** The test rows' probabilities, [testRows, sizes × outputs]. */
function predictFold(
  { view, table, outputNames, labels }: FitInput,
  { trainRows, testRows }: Fold,
  pcaSizes: readonly number[],
): Float64Array {
  const trainTable = selectRows(table, trainRows);
  const largest = Math.max(...pcaSizes);
  const { block } = fitBlock({ view, table: trainTable }, largest);
  const trainFeatures = blockFeatures(block, trainTable);
  const testFeatures = blockFeatures(block, selectRows(table, testRows));
  const trainLabels = [...trainRows].map((row) => labels[row]!);
  const outputs = outputNames.length;
  const width = pcaSizes.length * outputs;
  const predicted = new Float64Array(testRows.length * width);
  pcaSizes.forEach((pcaSize, place) => {
    const train = firstColumns(trainFeatures, largest, pcaSize);
    const test = firstColumns(testFeatures, largest, pcaSize);
    for (let output = 0; output < outputs; output++) {
      predictOutput({ train, test, pcaSize }, trainLabels, output).forEach((p, row) => {
        predicted[row * width + place * outputs + output] = p;
      });
    }
  });
  return predicted;
}

/** [testRows]; the share of solved rows where the fold's training has one class only. */
function predictOutput(
  { train, test, pcaSize }: { train: Float32Array; test: Float32Array; pcaSize: number },
  labels: SweepLabels,
  output: number,
): Float64Array {
  const solved = Float64Array.from(labels, (row) => row.labels[output] ?? 0);
  const sampleWeight = Float64Array.from(labels, (row) => labelWeight(row, output));
  const shares = labels.map((row) => row.labels[output]!).filter((share) => share !== null);
  if (shares.every((share) => share === 0)) return new Float64Array(test.length / pcaSize);
  if (shares.every((share) => share === 1)) return new Float64Array(test.length / pcaSize).fill(1);
  const model = fitLogistic(denseDesign(train, pcaSize), solved, { sampleWeight, tolerance });
  return predictLogistic(model, denseDesign(test, pcaSize));
}

/** The first `count` of each row's `columns` values. */
function firstColumns(features: Float32Array, columns: number, count: number): Float32Array {
  const rows = features.length / columns;
  const chosen = new Float32Array(rows * count);
  for (let row = 0; row < rows; row++) {
    chosen.set(features.subarray(row * columns, row * columns + count), row * count);
  }
  return chosen;
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
