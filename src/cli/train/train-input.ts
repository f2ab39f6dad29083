// What training and sweep read alike: the rows of the train split, and the encoder's view of them.
import type { TrainedView } from "../../checkpoint/router-json-2.js";
import type { Config } from "../../config/config.js";
import { checkView } from "../../encoder/check-view.js";
import type { Encoder } from "../../encoder/encoder.js";
import type { SpaceRule, Truncation, View } from "../../encoder/view.js";
import { JudgeError } from "../../errors.js";
import { expectedInterval } from "../../evaluate/expected-interval.js";
import { checkSplit, usualTrainSplit } from "../../labels/label-file.js";
import { quoted } from "../../labels/label-record.js";
import type { LabelRow } from "../../labels/label-row.js";
import type { Labels } from "../../labels/labels.js";
import { countLabels, labelProblems } from "../../labels/report.js";
import type { Envelope, EnvelopeRule } from "../../prompt/envelope.js";
import { answerNotes } from "../labels/answer-notes.js";
import type { Terminal } from "../terminal.js";

export interface TrainInput {
  readonly labels: string;
  /** encoder folder, or the id of a configured encoder */
  readonly encoder: string;
  /** rows of this split; absent: those of `usualTrainSplit`, and all where no row names a split */
  readonly trainSplit?: string | undefined;
  readonly maxTokens?: number | undefined;
  readonly truncation: Truncation;
  readonly chatTemplateKwargs?: NonNullable<View["templateArguments"]> | undefined;
  /** `single`: a run of spaces is learned, and read, as one */
  readonly spaces: SpaceRule;
  /** `strip`: what clients put around their users' texts is taken off, as the judge will do */
  readonly envelopes: EnvelopeRule;
  /** folder of the feature cache */
  readonly cache: string;
}

export interface TrainingRows {
  readonly rows: readonly LabelRow[];
  /** what makes a poor judge of them; the terminal has been told */
  readonly warnings: readonly string[];
}

/**
 * The rows to learn from.
 * @throws JudgeError `usage` for labels that nothing can be learned from
 */
export function trainingRows(
  { outputNames, rows: all, ignoredFields }: Labels,
  { labels: file, trainSplit }: TrainInput,
  terminal: Terminal,
): TrainingRows {
  const rows = chooseRows(all, trainSplit, file);
  const counts = countLabels(rows, outputNames);
  const warnings: string[] = [];
  for (const problem of labelProblems(counts)) {
    if ("rows" in problem) {
      const what = problem.kind === "few_rows" ? "labelled rows" : "rows of its rarer class";
      const { output, rows: count, wanted } = problem;
      warnings.push(`${output} has ${count} ${what}; below ${wanted} a head mostly learns noise`);
    } else {
      const what = problem.kind === "no_labels" ? "has no labels" : "has labels of one class only";
      throw new JudgeError("usage", {
        found: `${file}: output ${problem.output} ${what}`,
        remedy: "nothing can be learned of it",
      });
    }
  }
  for (const warning of warnings) terminal.note(warning);
  for (const count of counts) {
    const expected = expectedInterval(count);
    if (expected === null) continue;
    const { auc, halfWidth, wanted } = expected;
    terminal.note(
      `${count.output} has ${count.rows} labelled rows, ${Math.round(count.solved)} of them solved: on so many an AUC of ${auc} is known to ± ${halfWidth.toFixed(3)} only (95 %); give ${wanted} and more to tell judges apart`,
    );
  }
  for (const note of answerNotes(counts)) terminal.note(note);
  if (ignoredFields.length > 0)
    terminal.note(`${file}: nothing reads ${ignoredFields.map((field) => quoted(field)).join(", ")}`);
  return { rows, warnings };
}

/** What is taken off the prompts before they are learned from. */
export function trainingEnvelopes(
  { envelopes, ownEnvelopes }: Config,
  input: Pick<TrainInput, "envelopes">,
): readonly Envelope[] {
  return input.envelopes === "strip" ? [...envelopes, ...ownEnvelopes] : [];
}

/** @throws JudgeError `usage` where rows name splits and none is this one: the others are for testing */
function chooseRows(
  rows: readonly LabelRow[],
  trainSplit: string | undefined,
  file: string,
): readonly LabelRow[] {
  if (trainSplit === undefined && rows.every(({ split }) => split === null)) return rows;
  const name = trainSplit ?? usualTrainSplit;
  checkSplit(rows, name, { file, option: "--train-split" });
  return rows.filter(({ split }) => split === name);
}

/** @param option names the layers in a message, as the user gave them */
export function checkLayerOptions({ facts, id }: Encoder, layers: readonly number[], option: string): void {
  const missing = layers.find((layer) => !facts.layers.includes(layer));
  if (missing === undefined) return;
  throw new JudgeError("usage", {
    found: `${option} ${missing}: encoder ${id} gives ${facts.layers.join(", ")}`,
  });
}

/**
 * The view that a checkpoint of this training names.
 * @throws JudgeError `usage` for template arguments without a template, `encoder` for a view that cannot be
 *   read
 */
export async function trainingView(
  encoder: Encoder,
  { maxTokens, truncation, spaces, chatTemplateKwargs }: TrainInput,
): Promise<View> {
  const { facts, id } = encoder;
  if (chatTemplateKwargs !== undefined && facts.chatTemplateHash === null)
    throw new JudgeError("usage", {
      found: `--chat-template-kwargs: encoder ${id} has no chat template`,
      remedy: "leave it out",
    });
  const view: View = {
    template: facts.chatTemplateHash === null ? "none" : "chat",
    templateArguments: chatTemplateKwargs ?? {},
    maxTokens: Math.min(maxTokens ?? 2048, facts.maxTokens),
    truncation,
    ...(spaces === "single" && { spaces }),
  };
  await checkView(encoder, view);
  return view;
}

/** The view as a checkpoint of this training says it. */
export function writtenView(
  { template, maxTokens, truncation, spaces }: View,
  { facts }: Encoder,
  { config: { ownEnvelopes }, input: { envelopes } }: { config: Config; input: TrainInput },
): TrainedView {
  return {
    template,
    template_sha256: facts.chatTemplateHash,
    max_tokens: maxTokens,
    truncation,
    spaces: spaces ?? "keep",
    envelopes,
    ...(envelopes === "strip" && ownEnvelopes.length > 0 && { own_envelopes: [...ownEnvelopes] }),
  };
}
