// `train`: labelled prompts → a judge. Features by the encoder, a head by the recipe of llm-router,
// calibrated on out-of-fold predictions, written as router.json format 2 with a selftest.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CheckpointContent } from "../../checkpoint/checkpoint-content.js";
import { isTorchFile } from "../../checkpoint/load.js";
import type { RouterJson2, TrainedView } from "../../checkpoint/router-json-2.js";
import { writeRouterJson2 } from "../../checkpoint/router-json-write.js";
import { refuseForeign, saveFiles } from "../../checkpoint/save.js";
import { trySaving } from "../../checkpoint/save-trial.js";
import { type Selftest, writeSelftest } from "../../checkpoint/selftest.js";
import type { Config } from "../../config/config.js";
import type { Encoder } from "../../encoder/encoder.js";
import type { View } from "../../encoder/view.js";
import { JudgeError } from "../../errors.js";
import type { Costs } from "../../evaluate/costs.js";
import { pooledKey } from "../../features/pooled.js";
import type { PoolingMode } from "../../features/pooling.js";
import type { HeadWeights } from "../../head/weights.js";
import { readLabels } from "../../labels/label-file.js";
import { composeEncoder } from "../../server/encoders.js";
import { startEncoder } from "../../server/load-step.js";
import type { FitInput } from "../../train/fit/fit.js";
import { smallestTraining, usualFolds } from "../../train/fit/folds.js";
import type { Table } from "../../train/fit/scaler.js";
import { predictTable } from "../../train/predict.js";
import { commandRuntime, encoderConfig } from "../chosen-judges.js";
import { applyCosts, readCosts } from "../labels/costs-file.js";
import type { Terminal } from "../terminal.js";
import { encodeRows } from "./encode-rows.js";
import { type Fitted, fitCalibrated } from "./train-fit.js";
import {
  checkLayerOptions,
  type TrainInput,
  trainingEnvelopes,
  trainingRows,
  trainingView,
  writtenView,
} from "./train-input.js";
import { makeSelftest, selftestTexts, tokenizePrompts } from "./train-selftest.js";

export interface TrainCommand extends TrainInput {
  readonly layer: number;
  readonly pooling: PoolingMode;
  readonly pca: number;
  readonly out: string;
  readonly calibration: boolean;
  /** file of costs by output, kept in the checkpoint */
  readonly costs?: string | undefined;
  /** file of prompts for the selftest; absent: those of the rows */
  readonly selftest?: string | undefined;
}

/** @throws JudgeError `usage` for labels that nothing can be learned from */
export async function trainCommand(config: Config, options: TrainCommand, terminal: Terminal): Promise<void> {
  await tryOut(options.out, terminal);
  const labels = await readLabels(options.labels, trainingEnvelopes(config, options));
  const { outputNames } = labels;
  const { rows, warnings: rowWarnings } = trainingRows(labels, options, terminal);
  checkRows(options, rows.length);
  const costsFile = options.costs === undefined ? null : await readCosts(options.costs);
  const texts = rows.map(({ text }) => text);
  const promptTexts = await selftestTexts(options.selftest, texts, labels);
  const encoder = composeEncoder(encoderConfig(config, options.encoder), commandRuntime(config));
  try {
    await startEncoder(encoder, { timeoutMs: config.runtime.loadTimeoutMs });
    checkFeatures(options, encoder);
    const view = await trainingView(encoder, options);
    const wanted = { outputs: outputNames, known: outputNames, labels, texts };
    const costs = costsFile && (await applyCosts(costsFile, wanted, encoder));
    const prompts = await tokenizePrompts(encoder, view, promptTexts);
    const table = await featureTable(encoder, texts, { view, options, terminal });
    const promptTable = await featureTable(encoder, promptTexts, { view, options, terminal });
    const tableView = { layers: [options.layer], pooling: options.pooling, hiddenSize: table.columns };
    const { threads, processes } = config.runtime;
    const input: FitInput = { view: tableView, table, outputNames, labels: rows };
    const fitted = await fitCalibrated(input, { ...options, threads: threads * processes }, terminal);
    const { weights, facts, warnings } = fitted;
    const predicted = predictTable(weights, promptTable);
    const reference = `prefill-judge ${terminal.version}, at the end of the training`;
    const selftest = makeSelftest(encoder, { outputNames, prompts, predicted, reference });
    const training = trainingFacts(fitted, options, [...rowWarnings, ...warnings]);
    const written = writtenView(view, encoder, { config, input: options });
    const chatTemplateKwargs = view.templateArguments ?? {};
    await save(options, { encoder, view: written, chatTemplateKwargs, weights, costs, selftest, training });
    terminal.print(
      `${options.out}: ${outputNames.length} output(s) from ${rows.length} rows, 5 of ${facts.members.length} members kept`,
    );
    for (const warning of warnings) terminal.note(`warning: ${warning}`);
  } finally {
    await encoder.close();
  }
}

/** @throws JudgeError `usage` for a place that the checkpoint could not be saved at */
async function tryOut(out: string, terminal: Terminal): Promise<void> {
  if (isTorchFile(out))
    throw new JudgeError("usage", {
      found: `--out ${out}: a judge is a folder`,
      remedy: "leave .pt out of its name",
    });
  await refuseForeign(out, [...checkpointFiles, ...staleFiles]);
  await trySaving(out);
  // of no checkpoint it would have been refused
  if (existsSync(join(out, "router.json")))
    terminal.note(`${out} holds a checkpoint, which is replaced at the end of this training`);
}

const checkpointFiles = ["router.json", "router.safetensors", "selftest.json"];
/** of an older checkpoint in the same folder */
const staleFiles = ["notice.txt"];

/** The folds of the calibration leave a fifth of the rows out. */
function checkRows({ pca, calibration }: TrainCommand, rows: number): void {
  const fitted = calibration ? smallestTraining(rows, usualFolds) : rows;
  if (fitted > pca) return;
  throw new JudgeError("usage", {
    found: `${rows} rows are too few for --pca ${pca}`,
    remedy: "give more rows, or a smaller --pca",
  });
}

function checkFeatures({ layer, pca }: TrainCommand, encoder: Encoder): void {
  checkLayerOptions(encoder, [layer], "--layer");
  const { hiddenSize } = encoder.facts;
  if (pca <= hiddenSize) return;
  throw new JudgeError("usage", {
    found: `--pca ${pca}: encoder ${encoder.id} gives ${hiddenSize} features`,
    remedy: "give a smaller --pca",
  });
}

async function featureTable(
  encoder: Encoder,
  texts: readonly string[],
  { view, options, terminal }: { view: View; options: TrainCommand; terminal: Terminal },
): Promise<Table> {
  const { layer, pooling, cache: folder } = options;
  const wanted = { view, layers: [layer], pooling: [pooling] };
  const caches = await encodeRows(encoder, texts, wanted, { folder, terminal });
  return await caches.get(pooledKey(layer, pooling))!.read(texts);
}

interface Trained {
  readonly encoder: Encoder;
  readonly view: TrainedView;
  readonly chatTemplateKwargs: CheckpointContent["chatTemplateKwargs"];
  readonly weights: HeadWeights;
  readonly costs: Costs;
  readonly selftest: Selftest;
  readonly training: RouterJson2["training"];
}

async function save(
  { out, encoder: encoderName }: TrainCommand,
  { encoder, view, chatTemplateKwargs, weights, costs, selftest, training }: Trained,
) {
  const content: CheckpointContent = {
    format: "router-json-2",
    encoderName: encoder.modelName ?? encoderName,
    head: weights,
    costs,
    chatTemplateKwargs,
    message: "first",
  };
  const { files: encoderHashes, weightFiles = ["model.onnx"] } = encoder.facts;
  // a model that runs elsewhere has no file here
  const encoderFiles = Object.fromEntries(
    Object.entries(encoderHashes).filter(([name]) => [...weightFiles, "tokenizer.json"].includes(name)),
  );
  const files = writeRouterJson2({ ...content, view, encoderFiles, training }, sha256);
  await saveFiles(out, { ...files, "selftest.json": writeSelftest(selftest) }, staleFiles);
}

function trainingFacts({ facts, aucOutOfFold }: Fitted, options: TrainCommand, warnings: readonly string[]) {
  const { rows, validationRows, explainedVarianceRatio, members } = facts;
  return {
    rows,
    validation_rows: validationRows,
    explained_variance: explainedVarianceRatio.reduce((sum, value) => sum + value, 0),
    layer: options.layer,
    pooling: options.pooling,
    calibrated: options.calibration,
    auc_out_of_fold: aucOutOfFold?.map((entry) => ({ ...entry })) ?? null,
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
    members: members.map(({ seed, validationLoss, epochs, kept }) => ({
      seed,
      validation_loss: validationLoss,
      epochs,
      kept,
    })),
  };
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
