// `sweep`: which layer, pooling mode and PCA size to train on, by out-of-fold predictions.

import type { Config } from "../../config/config.js";
import type { Encoder } from "../../encoder/encoder.js";
import { JudgeError } from "../../errors.js";
import type { Estimate } from "../../evaluate/bootstrap.js";
import { type PooledKey, pooledKey } from "../../features/pooled.js";
import { type PoolingMode, poolingModes } from "../../features/pooling.js";
import { readLabels } from "../../labels/label-file.js";
import type { LabelRow } from "../../labels/label-row.js";
import { composeEncoder } from "../../server/encoders.js";
import { startEncoder } from "../../server/load-step.js";
import type { FeatureCache } from "../../train/feature-cache.js";
import { smallestTraining, usualFolds } from "../../train/fit/folds.js";
import { estimateMeanAuc, type SweepPoint, sweepPca } from "../../train/sweep.js";
import { commandRuntime, encoderConfig } from "../chosen-judges.js";
import type { Terminal } from "../terminal.js";
import { estimate, number, table } from "../text-table.js";
import { encodeRows } from "./encode-rows.js";
import {
  checkLayerOptions,
  type TrainInput,
  trainingEnvelopes,
  trainingRows,
  trainingView,
} from "./train-input.js";

export interface SweepCommand extends TrainInput {
  /** absent: all that the encoder gives */
  readonly layers?: readonly number[] | undefined;
  /** absent: both */
  readonly pooling?: readonly PoolingMode[] | undefined;
  /** absent: those of llm-router's sweep that the rows and the encoder allow */
  readonly pca?: readonly number[] | undefined;
  readonly seed: number;
  readonly json: boolean;
}

interface Grid {
  readonly layers: readonly number[];
  readonly pooling: readonly PoolingMode[];
  readonly pcaSizes: readonly number[];
}

interface Choice extends SweepPoint {
  readonly layer: number;
  readonly pooling: PoolingMode;
}

const usualPcaSizes = [50, 100, 150, 200, 300];

/** @throws JudgeError `usage` for labels, layers or sizes that nothing can be learned from */
export async function sweepCommand(config: Config, options: SweepCommand, terminal: Terminal): Promise<void> {
  const labels = await readLabels(options.labels, trainingEnvelopes(config, options));
  const { rows } = trainingRows(labels, options, terminal);
  const encoder = composeEncoder(encoderConfig(config, options.encoder), commandRuntime(config));
  const { grid, caches } = await encodeGrid(encoder, rows, { config, options, terminal });
  const input = { rows, outputNames: labels.outputNames, hiddenSize: encoder.facts.hiddenSize };
  const choices = await compareChoices(input, grid, { caches, terminal });
  // of equal ones the first, which has the lowest layer and the fewest components
  const best = choices.reduce((first, other) =>
    (other.meanAuc ?? 0) > (first.meanAuc ?? 0) ? other : first,
  );
  const meanAuc = estimateMeanAuc(best.predicted, rows, { seed: options.seed });
  const result = { rows: rows.length, outputNames: labels.outputNames, choices, best, meanAuc };
  terminal.print(options.json ? JSON.stringify(toJson(result), null, 2) : render(result));
}

/** One pass of the encoder for all layers and pooling modes. The encoder then closes. */
async function encodeGrid(
  encoder: Encoder,
  rows: readonly LabelRow[],
  { config, options, terminal }: { config: Config; options: SweepCommand; terminal: Terminal },
): Promise<{ grid: Grid; caches: ReadonlyMap<PooledKey, FeatureCache> }> {
  try {
    await startEncoder(encoder, { timeoutMs: config.runtime.loadTimeoutMs });
    const grid = gridOf(encoder, rows.length, options);
    const wanted = { ...grid, view: await trainingView(encoder, options) };
    const texts = rows.map(({ text }) => text);
    return { grid, caches: await encodeRows(encoder, texts, wanted, { folder: options.cache, terminal }) };
  } finally {
    await encoder.close();
  }
}

function gridOf(encoder: Encoder, rows: number, options: SweepCommand): Grid {
  const { facts } = encoder;
  const layers = ascending(options.layers ?? facts.layers);
  checkLayerOptions(encoder, layers, "--layers");
  const pooling: readonly PoolingMode[] = [...new Set(options.pooling ?? poolingModes)];
  const largest = Math.min(smallestTraining(rows, usualFolds), facts.hiddenSize);
  const tooLarge = options.pca?.find((size) => size > largest);
  if (tooLarge !== undefined || largest < 1) {
    throw new JudgeError("usage", {
      found: `--pca ${tooLarge ?? 1}: ${rows} rows in ${usualFolds.folds} folds and ${facts.hiddenSize} features allow ${largest} at most`,
    });
  }
  const fitting = usualPcaSizes.filter((size) => size <= largest);
  const pcaSizes = ascending(options.pca ?? (fitting.length > 0 ? fitting : [largest]));
  return { layers, pooling, pcaSizes };
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

async function compareChoices(
  {
    rows,
    outputNames,
    hiddenSize,
  }: { rows: readonly LabelRow[]; outputNames: readonly string[]; hiddenSize: number },
  { layers, pooling, pcaSizes }: Grid,
  { caches, terminal }: { caches: ReadonlyMap<PooledKey, FeatureCache>; terminal: Terminal },
): Promise<Choice[]> {
  const texts = rows.map(({ text }) => text);
  const choices: Choice[] = [];
  for (const layer of layers) {
    for (const mode of pooling) {
      const view = { layers: [layer], pooling: mode, hiddenSize };
      const features = await caches.get(pooledKey(layer, mode))!.read(texts);
      const input = { view, table: features, outputNames, labels: rows };
      const points = await sweepPca(input, { pcaSizes, folds: usualFolds });
      choices.push(...points.map((point): Choice => ({ layer, pooling: mode, ...point })));
      const best = Math.max(...points.map(({ meanAuc }) => meanAuc ?? 0));
      terminal.note(`layer ${layer}, ${mode}: mean AUC ${number(best)} with the best PCA`);
    }
  }
  return choices;
}

interface Result {
  readonly rows: number;
  readonly outputNames: readonly string[];
  readonly choices: readonly Choice[];
  readonly best: Choice;
  readonly meanAuc: Estimate;
}

function toJson({ rows, outputNames, choices, best, meanAuc }: Result) {
  return {
    rows,
    folds: usualFolds.folds,
    choices: choices.map(({ layer, pooling, pcaSize, auc, meanAuc }) => ({
      layer,
      pooling,
      pca: pcaSize,
      auc: Object.fromEntries(outputNames.map((name, output) => [name, auc[output]])),
      meanAuc,
    })),
    best: { layer: best.layer, pooling: best.pooling, pca: best.pcaSize, meanAuc },
  };
}

function render({ rows, outputNames, choices, best, meanAuc }: Result): string {
  const several = outputNames.length > 1;
  const lines = choices.map((choice) => [
    String(choice.layer),
    choice.pooling,
    String(choice.pcaSize),
    ...(several ? [number(choice.meanAuc)] : []),
    ...choice.auc.map(number),
  ]);
  const { layer, pooling, pcaSize } = best;
  return [
    `AUC of logistic regression on ${rows} rows, out of ${usualFolds.folds} folds`,
    table([["layer", "pooling", "PCA", ...(several ? ["mean"] : []), ...outputNames], ...lines]),
    `best of ${choices.length}: ${estimate(meanAuc)}; choices within this interval hardly differ, and the best of many looks better than it is`,
    ...((meanAuc.low ?? 0) > 0.5
      ? []
      : ["no choice differs from chance (0.5) on these rows: nothing shows that they can be learned"]),
    `train --layer ${layer} --pooling ${pooling} --pca ${pcaSize}`,
  ].join("\n\n");
}
