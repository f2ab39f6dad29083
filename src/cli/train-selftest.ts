// The selftest of a training: what a few prompts come to on the machine that trained. Chooses those prompts, which are
// written into the checkpoint as they are.
import * as z from "zod";
import type { Selftest } from "../checkpoint/selftest.js";
import type { Encoder, Tokens, View } from "../encoder/encoder.js";
import { JudgeError } from "../errors.js";
import type { HeadWeights } from "../head/weights.js";
import { readableText } from "../prompt/judged-text.js";
import type { LabelRow, Labels } from "../train/labels.js";
import { normaliseText } from "../train/normalise.js";
import { predictTable } from "../train/predict.js";
import type { Table } from "../train/scaler.js";
import { readJsonLines } from "./json-lines.js";
import { readText } from "./label-file.js";
import type { Terminal } from "./terminal.js";

const selftestRows = 5;
const selftestTolerance = 1e-4;

const Row = z.looseObject({ prompt: z.string() });

/**
 * The texts of the selftest: the shortest of the file, or without one, of the rows that are trained on.
 *
 * @throws JudgeError `usage` for a file without a prompt to use
 */
export async function selftestTexts(
  file: string | undefined,
  trained: readonly string[],
  { rows }: Labels,
): Promise<string[]> {
  const texts = file === undefined ? trained : await readPrompts(file, rows);
  return [...new Set(texts)].sort((a, b) => a.length - b.length).slice(0, selftestRows);
}

/**
 * The prompts of a file, one a line, or a JSON object with "prompt" a line where its name ends with `.jsonl`. Blank ones
 * are passed over, and so is every prompt of the labels, whatever its split: none gets into the checkpoint this way.
 */
async function readPrompts(file: string, labelled: readonly LabelRow[]): Promise<string[]> {
  const given = file.endsWith(".jsonl")
    ? (await readJsonLines(file, Row, 'a JSON object with a string "prompt"')).map(({ prompt }) => prompt)
    : (await readText(file)).replace(/^\uFEFF/, "").split(/\r?\n/);
  const known = new Set(labelled.map(({ text }) => normaliseText(text)));
  const prompts = given
    .flatMap((prompt) => readableText(prompt) ?? [])
    .filter((text) => !known.has(normaliseText(text)));
  if (prompts.length > 0) return prompts;
  throw new JudgeError(
    "usage",
    `${file} has no prompt that is not in the labels; give --selftest a file of other prompts`,
  );
}

/** A prompt of a selftest, as the encoder reads it. */
export interface SelftestPrompt {
  readonly text: string;
  readonly inputIds: readonly number[];
}

/** @throws JudgeError `usage` for a text that the view cuts: at load, a selftest reads its prompts whole */
export async function tokenizePrompts(
  encoder: Encoder,
  view: View,
  texts: readonly string[],
): Promise<SelftestPrompt[]> {
  const tokens = await encoder.tokenize(texts, view);
  return texts.map((text, index) => {
    const entry = tokens[index] as Tokens | JudgeError;
    const advice = "give --selftest a file of other prompts";
    if (entry instanceof JudgeError)
      throw new JudgeError("usage", `a prompt of the selftest cannot be read: ${entry.message}; ${advice}`);
    if (!entry.truncated) return { text, inputIds: entry.ids };
    throw new JudgeError("usage", `a prompt of the selftest has over ${view.maxTokens} tokens; ${advice}`);
  });
}

/**
 * Prompts with what this program computes: tells later that nothing has changed since.
 *
 * @param table pooled vectors of the prompts, a row each
 */
export function makeSelftest(
  { facts }: Encoder,
  { weights, table, prompts }: { weights: HeadWeights; table: Table; prompts: readonly SelftestPrompt[] },
  { version }: Terminal,
): Selftest {
  const predicted = predictTable(weights, table);
  const outputs = weights.outputNames.length;
  return {
    reference: `prefill-judge ${version}, at the end of the training`,
    tolerance: selftestTolerance,
    files: Object.fromEntries(Object.entries(facts.files).map(([name, hash]) => [`encoder/${name}`, hash])),
    prompts: prompts.map(({ text, inputIds }, index) => ({
      prompt: text,
      inputIds,
      probabilities: Object.fromEntries(
        weights.outputNames.map((name, output) => [name, predicted[index * outputs + output]!]),
      ),
    })),
  };
}
