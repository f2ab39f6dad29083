// The selftest of a training: chooses prompts, and records what they come to on this machine.
import * as z from "zod";
import type { Selftest } from "../../checkpoint/selftest.js";
import type { Encoder, Tokens } from "../../encoder/encoder.js";
import type { View } from "../../encoder/view.js";
import { JudgeError } from "../../errors.js";
import { isJsonLines } from "../../labels/file-form.js";
import { readJsonLines } from "../../labels/json-lines.js";
import { wanted } from "../../labels/json-rows.js";
import type { LabelRow } from "../../labels/label-row.js";
import type { Labels } from "../../labels/labels.js";
import { normaliseText } from "../../labels/normalise.js";
import { readText } from "../../labels/read-text.js";
import { readableText } from "../../prompt/judged-text.js";

const selftestRows = 5;
const selftestTolerance = 1e-4;
/** A server may run in bfloat16, and what runs beside a text moves its values then. */
const serverTolerance = 2e-2;

const Row = z.looseObject({ prompt: z.string(wanted("a string")) });

/**
 * The texts of the selftest: the shortest of the file, or without one, of the rows that are trained on.
 * @throws JudgeError `usage` for a file without a prompt to use
 */
export async function selftestTexts(
  file: string | undefined,
  trained: readonly string[],
  { rows }: Labels,
): Promise<string[]> {
  if (file === undefined) return shortest(trained);
  const isLabelled = createLabelledTest(rows);
  const texts = shortest((await readPrompts(file)).filter((text) => !isLabelled(text)));
  if (texts.length > 0) return texts;
  throw new JudgeError("usage", {
    found: `${file} has no prompt that is not in the labels`,
    remedy: "give --selftest a file of other prompts",
  });
}

function shortest(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort((a, b) => a.length - b.length).slice(0, selftestRows);
}

/** The prompts of a file, one a line, or one JSON object with "prompt" a line. Blank lines are skipped. */
export async function readPrompts(file: string): Promise<string[]> {
  const prompts = isJsonLines(file)
    ? (await readJsonLines(file, Row, 'a JSON object with a string "prompt"')).map(({ prompt }) => prompt)
    : readLines(file, await readText(file));
  return prompts.flatMap((prompt) => readableText(prompt) ?? []);
}

/** A line of JSON or CSV, taken for a prompt, would bring what the file says of it into the checkpoint. */
function readLines(file: string, content: string): string[] {
  const lines = content.split(/\r?\n/);
  const place = lines.findIndex((line) => /^\s*[{[]/.test(line));
  const isTable = /\.[ct]sv$/i.test(file) || /^"?question"?,/.test(content);
  if (place < 0 && !isTable) return lines;
  const finding = isTable ? "found a table" : `found JSON in line ${place + 1}`;
  throw new JudgeError("usage", {
    found: `${file}: ${finding}`,
    wanted: "one prompt a line",
    remedy: `name it .jsonl or .ndjson where each line is an object with "prompt"`,
  });
}

/** Shorter prompts stand in other texts by chance. */
const tellingCharacters = 24;

/** Whether a text is a prompt of the labels, whatever its split, or holds one. */
function createLabelledTest(rows: readonly LabelRow[]): (text: string) => boolean {
  const known = new Set(rows.map(({ text }) => normaliseText(text)));
  const telling = [...known].filter((text) => text.length >= tellingCharacters);
  return (text) => {
    const normalised = normaliseText(text);
    return known.has(normalised) || telling.some((prompt) => normalised.includes(prompt));
  };
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
      throw new JudgeError("usage", {
        found: `a prompt of the selftest cannot be read: ${entry.message}`,
        remedy: advice,
      });
    if (!entry.truncated) return { text, inputIds: entry.ids };
    throw new JudgeError("usage", {
      found: `a prompt of the selftest has over ${view.maxTokens} tokens`,
      remedy: advice,
    });
  });
}

export interface SelftestContent {
  readonly outputNames: readonly string[];
  readonly prompts: readonly SelftestPrompt[];
  /** [prompts, outputs] before calibration */
  readonly predicted: ArrayLike<number>;
  /** what gave them */
  readonly reference: string;
}

/** Prompts with what this program computes: tells later that nothing has changed since. */
export function makeSelftest(
  { facts }: Encoder,
  { outputNames, prompts, predicted, reference }: SelftestContent,
): Selftest {
  const outputs = outputNames.length;
  return {
    reference,
    tolerance: facts.device === "vllm" ? serverTolerance : selftestTolerance,
    files: Object.fromEntries(Object.entries(facts.files).map(([name, hash]) => [`encoder/${name}`, hash])),
    prompts: prompts.map(({ text, inputIds }, index) => ({
      prompt: text,
      inputIds,
      probabilities: Object.fromEntries(
        outputNames.map((name, output) => [name, predicted[index * outputs + output]!]),
      ),
    })),
  };
}
