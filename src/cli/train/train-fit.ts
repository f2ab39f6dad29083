// The fit of a training: the head, calibrated on out-of-fold predictions, and what these say against it.

import { type OutputAuc, outOfFoldAuc } from "../../evaluate/out-of-fold-auc.js";
import type { HeadWeights } from "../../head/weights.js";
import { type FitFacts, type FitInput, fitHead, type TrainSeeds } from "../../train/fit/fit.js";
import { createSeedWorkers } from "../../train/fit/fit-workers.js";
import { outOfFold, selectRows, usualFolds } from "../../train/fit/folds.js";
import { fitCalibrations, keepsOrder } from "../../train/fit/platt.js";
import { predictTable } from "../../train/predict.js";
import type { Terminal } from "../terminal.js";
import { estimate } from "../text-table.js";

export interface Fitted {
  readonly weights: HeadWeights;
  readonly facts: FitFacts;
  /** null without calibration, which is what the folds are for */
  readonly aucOutOfFold: readonly OutputAuc[] | null;
  /** what makes the judge one that nobody should route by; kept in the checkpoint */
  readonly warnings: readonly string[];
}

export interface FitChoice {
  readonly pca: number;
  readonly calibration: boolean;
  readonly threads: number;
}

/** Fewer than the final head's: the folds only measure how far its probabilities are off. */
const foldSeeds = [42, 43, 44, 45, 46];

export async function fitCalibrated(
  input: FitInput,
  { pca: pcaSize, calibration: isCalibrated, threads }: FitChoice,
  terminal: Terminal,
): Promise<Fitted> {
  const trainSeeds = createSeedWorkers(threads);
  let trained = 0;
  const { weights, facts } = await fitHead(input, {
    pcaSize,
    trainSeeds,
    onMember: ({ seed, validationLoss, epochs }) => {
      trained++;
      terminal.note(
        `member ${trained}: seed ${seed}, validation loss ${validationLoss.toFixed(4)} after ${epochs} epochs`,
      );
    },
  });
  if (!isCalibrated) return { weights, facts, aucOutOfFold: null, warnings: [] };
  const predicted = await predictOutOfFold(input, { pcaSize, trainSeeds }, terminal);
  const fitted = fitCalibrations(predicted, input.labels, input.outputNames.length);
  const calibration = fitted.map((entry) => (entry !== null && keepsOrder(entry) ? entry : null));
  const aucOutOfFold = outOfFoldAuc(predicted, input.labels, input.outputNames);
  return {
    weights: { ...weights, calibration },
    facts,
    aucOutOfFold,
    warnings: aucOutOfFold.flatMap((auc, output) => {
      const leftOut = calibration[output] === null ? fitted[output] : null;
      return warningsOf(auc, leftOut?.slope ?? null);
    }),
  };
}

/** [rows, outputs] */
function predictOutOfFold(
  input: FitInput,
  { pcaSize, trainSeeds }: { pcaSize: number; trainSeeds: TrainSeeds },
  terminal: Terminal,
): Promise<Float64Array> {
  const size = { rows: input.table.rows, outputs: input.outputNames.length };
  return outOfFold(size, usualFolds, async ({ trainRows, testRows }, index) => {
    terminal.note(`calibration: fold ${index + 1} of ${usualFolds.folds}`);
    const labels = [...trainRows].map((row) => input.labels[row]!);
    const part = { ...input, table: selectRows(input.table, trainRows), labels };
    const { weights } = await fitHead(part, { pcaSize, trainSeeds, seeds: foldSeeds });
    return predictTable(weights, selectRows(input.table, testRows));
  });
}

/** @param slope of a calibration that was left out */
function warningsOf({ output, auc, low, high }: OutputAuc, slope: number | null): string[] {
  return [
    (low === null || low <= 0.5) &&
      `${output}: AUC ${estimate({ value: auc, low, high })} out of fold does not differ from chance (0.5): nothing shows that this judge tells solved from unsolved; do not route by it`,
    slope !== null &&
      `${output}: the calibration has slope ${slope.toFixed(2)}, which would turn the judge upside down; it is left out, and the probabilities are the ensemble's own`,
  ].filter((warning) => warning !== false);
}
