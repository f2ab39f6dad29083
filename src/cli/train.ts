// `train`: labelled prompts → a judge. Features by the encoder, a head by the recipe of llm-router, calibrated on
// out-of-fold predictions, written as router.json format 2 with a selftest.
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { CheckpointContent } from "../checkpoint/content.js";
import type { RouterJson2, TrainedView } from "../checkpoint/router-json-2.js";
import { writeRouterJson2 } from "../checkpoint/router-json-write.js";
import { saveFiles } from "../checkpoint/save.js";
import { type Selftest, writeSelftest } from "../checkpoint/selftest.js";
import { composeEncoder } from "../compose.js";
import type { Config } from "../config.js";
import type { Encoder, Tokens, View } from "../encoder/encoder.js";
import { JudgeError } from "../errors.js";
import type { PoolingMode } from "../features/pooling.js";
import type { HeadWeights } from "../head/weights.js";
import type { Costs } from "../train/costs.js";
import { openFeatureCache } from "../train/feature-cache.js";
import { type FitFacts, type FitInput, fitHead } from "../train/fit.js";
import { createSeedWorkers } from "../train/fit-workers.js";
import { outOfFold, selectRows } from "../train/folds.js";
import type { LabelRow, Labels } from "../train/labels.js";
import { countLabels, labelProblems } from "../train/labels-report.js";
import { calibrateHead } from "../train/platt.js";
import { predictTable } from "../train/predict.js";
import { encoderConfig } from "./chosen-judges.js";
import { applyCosts, readCosts } from "./costs-file.js";
import { encodeRows } from "./encode-rows.js";
import { readLabels } from "./label-file.js";
import type { Terminal } from "./terminal.js";

export interface TrainCommand {
  readonly labels: string;
  /** encoder folder, or the id of a configured encoder */
  readonly encoder: string;
  readonly layer: number;
  readonly pooling: PoolingMode;
  readonly pca: number;
  readonly out: string;
  /** rows of this split; where the file has none of it, all */
  readonly trainSplit: string;
  readonly maxTokens?: number | undefined;
  readonly truncation: "middle" | "right";
  /** folder of the feature cache */
  readonly cache: string;
  readonly calibration: boolean;
  /** file of costs by output, kept in the checkpoint */
  readonly costs?: string | undefined;
}

const folds = { folds: 5, seed: 42 };
/** Fewer than the final head's: the folds only measure how far its probabilities are off. */
const foldSeeds = [42, 43, 44, 45, 46];
const selftestRows = 5;
const selftestTolerance = 1e-4;

/** @throws JudgeError `usage` for labels that nothing can be learned from */
export async function trainCommand(config: Config, options: TrainCommand, terminal: Terminal): Promise<void> {
  const labels = await readLabels(options.labels);
  const { outputNames } = labels;
  const rows = trainingRows(labels, options, terminal);
  const costsFile = options.costs === undefined ? null : await readCosts(options.costs);
  const encoder = composeEncoder(encoderConfig(config, options.encoder), config.runtime.threads);
  await encoder.start();
  try {
    const view = viewOf(encoder, options);
    const { layer, pooling } = options;
    const viewKey = sha256(Buffer.from(JSON.stringify([view, layer, pooling]))).slice(0, 16);
    const cacheFile = join(options.cache, `${encoder.facts.hash}-${viewKey}.features`);
    const cache = await openFeatureCache(cacheFile, encoder.facts.hiddenSize);
    const texts = rows.map(({ text }) => text);
    const wanted = { outputs: outputNames, known: outputNames, labels, texts };
    const costs = costsFile && (await applyCosts(costsFile, wanted, encoder));
    const table = await encodeRows(encoder, texts, { view, layer, pooling }, { cache, terminal });
    const input: FitInput = {
      view: { layers: [layer], pooling, hiddenSize: encoder.facts.hiddenSize },
      table,
      outputNames,
      labels: rows,
    };
    const { weights, facts } = await fit(input, options, config.runtime.threads, terminal);
    const selftest = await makeSelftest(encoder, view, { weights, table, texts }, terminal);
    await save(options, { encoder, view, weights, costs, selftest, training: trainingFacts(facts, options) });
    terminal.print(
      `${options.out}: ${outputNames.length} output(s) from ${rows.length} rows, 5 of ${facts.members.length} members kept`,
    );
  } finally {
    await encoder.close();
  }
}

function trainingRows(
  { outputNames, rows: all, report }: Labels,
  { labels: file, trainSplit, pca }: TrainCommand,
  terminal: Terminal,
): readonly LabelRow[] {
  const inSplit = all.filter(({ split }) => split === trainSplit);
  const rows = inSplit.length === 0 ? all : inSplit;
  const problems = labelProblems(countLabels(rows, outputNames));
  for (const problem of problems) {
    if ("rows" in problem) {
      const what = problem.kind === "few_rows" ? "labelled rows" : "rows of its rarer class";
      terminal.note(
        `${problem.output} has ${problem.rows} ${what}; below ${problem.wanted} a head mostly learns noise`,
      );
    } else {
      const what = problem.kind === "no_labels" ? "has no labels" : "has labels of one class only";
      throw new JudgeError(
        "usage",
        `${file}: output ${problem.output} ${what}; nothing can be learned of it`,
      );
    }
  }
  if (report.conflicts.length > 0) {
    terminal.print(
      `note: ${report.conflicts.length} prompts have labels that contradict each other; those are left out`,
    );
  }
  if (rows.length <= pca)
    throw new JudgeError(
      "usage",
      `${rows.length} rows are too few for --pca ${pca}; give more rows, or a smaller --pca`,
    );
  return rows;
}

function viewOf({ facts, id }: Encoder, options: TrainCommand): View {
  if (!facts.layers.includes(options.layer)) {
    throw new JudgeError("usage", `--layer ${options.layer}: encoder ${id} gives ${facts.layers.join(", ")}`);
  }
  const maxTokens = Math.min(options.maxTokens ?? 2048, facts.maxTokens);
  const template = facts.chatTemplateHash === null ? "none" : "chat";
  return { template, templateArguments: {}, maxTokens, truncation: options.truncation };
}

async function fit(input: FitInput, options: TrainCommand, threads: number, terminal: Terminal) {
  const trainSeeds = createSeedWorkers(threads);
  const note = (text: string) => terminal.note(text);
  let trained = 0;
  const fitted = await fitHead(input, {
    pcaSize: options.pca,
    trainSeeds,
    onMember: ({ seed, validationLoss, epochs }) => {
      trained++;
      note(
        `member ${trained}: seed ${seed}, validation loss ${validationLoss.toFixed(4)} after ${epochs} epochs`,
      );
    },
  });
  if (!options.calibration) return fitted;
  const size = { rows: input.table.rows, outputs: input.outputNames.length };
  const predicted = await outOfFold(size, folds, async ({ trainRows, testRows }, index) => {
    note(`calibration: fold ${index + 1} of ${folds.folds}`);
    const labels = [...trainRows].map((row) => input.labels[row]!);
    const part = { ...input, table: selectRows(input.table, trainRows), labels };
    const { weights } = await fitHead(part, { pcaSize: options.pca, trainSeeds, seeds: foldSeeds });
    return predictTable(weights, selectRows(input.table, testRows));
  });
  return { ...fitted, weights: calibrateHead(fitted.weights, predicted, input.labels) };
}

/** A few of the shortest prompts with what this program computes: tells later that nothing has changed since. */
async function makeSelftest(
  encoder: Encoder,
  view: View,
  {
    weights,
    table,
    texts,
  }: {
    weights: HeadWeights;
    table: { rows: number; columns: number; data: Float32Array };
    texts: readonly string[];
  },
  { version }: Terminal,
): Promise<Selftest> {
  const chosen = Uint32Array.from(
    [...texts.keys()].sort((a, b) => texts[a]!.length - texts[b]!.length || a - b).slice(0, selftestRows),
  );
  const prompts = [...chosen].map((row) => texts[row]!);
  const tokens = await encoder.tokenize(prompts, view);
  const predicted = predictTable(weights, selectRows(table, chosen));
  const outputs = weights.outputNames.length;
  return {
    reference: `prefill-judge ${version}, at the end of the training`,
    tolerance: selftestTolerance,
    files: Object.fromEntries(
      Object.entries(encoder.facts.files).map(([name, hash]) => [`encoder/${name}`, hash]),
    ),
    prompts: prompts.map((prompt, index) => ({
      prompt,
      inputIds: (tokens[index] as Tokens).ids,
      probabilities: Object.fromEntries(
        weights.outputNames.map((name, output) => [name, predicted[index * outputs + output]!]),
      ),
    })),
  };
}

interface Trained {
  readonly encoder: Encoder;
  readonly view: View;
  readonly weights: HeadWeights;
  readonly costs: Costs;
  readonly selftest: Selftest;
  readonly training: RouterJson2["training"];
}

async function save(
  { out, encoder: encoderName }: TrainCommand,
  { encoder, view, weights, costs, selftest, training }: Trained,
) {
  const trainedView: TrainedView = {
    template: view.template,
    template_sha256: encoder.facts.chatTemplateHash,
    max_tokens: view.maxTokens,
    truncation: view.truncation,
  };
  const content: CheckpointContent = {
    format: "router-json-2",
    encoderName: encoder.modelName ?? encoderName,
    head: weights,
    costs,
    chatTemplateKwargs: {},
    message: "first",
  };
  const { "model.onnx": model, "tokenizer.json": tokenizer } = encoder.facts.files;
  const encoderFiles = { "model.onnx": model!, "tokenizer.json": tokenizer! };
  const files = writeRouterJson2({ ...content, view: trainedView, encoderFiles, training }, sha256);
  await saveFiles(out, { ...files, "selftest.json": writeSelftest(selftest) }, ["notice.txt"]);
}

function trainingFacts(
  { rows, validationRows, explainedVarianceRatio, members }: FitFacts,
  options: TrainCommand,
) {
  return {
    rows,
    validation_rows: validationRows,
    explained_variance: explainedVarianceRatio.reduce((sum, value) => sum + value, 0),
    layer: options.layer,
    pooling: options.pooling,
    calibrated: options.calibration,
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
