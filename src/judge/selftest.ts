// The selftest of a checkpoint: its files, token ids and probabilities come out again.
import type { Encoding, ProofSource, Tokens } from "../encoder/encoder.js";
import type { View } from "../encoder/view.js";
import { asJudgeError, JudgeError } from "../errors.js";
import { probabilities, requiredFeatures } from "../head/head.js";
import type { Multiply } from "../head/multiply.js";
import type { JudgeParts } from "./judge-parts.js";

/** A checkpoint on an encoder that has been started. */
export type Subject = Pick<JudgeParts, "id" | "checkpoint"> & {
  readonly encoder: ProofSource;
  /** the product that is served with; absent: the usual one */
  readonly multiply?: Multiply;
};
export type Selftest = NonNullable<Subject["checkpoint"]["selftest"]>;

export interface SelftestOutcome {
  readonly prompts: number;
  /** largest admitted difference of a probability */
  readonly tolerance: number;
  readonly passed: boolean;
  /** the largest difference and where it was found; infinite for what is no number */
  readonly largest: { readonly prompt: number; readonly output: string; readonly difference: number };
}

/** @throws JudgeError `checkpoint` with what differs; does nothing for a checkpoint without selftest */
export async function runSelftest(subject: Subject, view: View): Promise<void> {
  try {
    checkFiles(subject.checkpoint, subject.encoder.facts.files);
    const outcome = await measureSelftest(subject, view);
    if (outcome !== null && !outcome.passed) throw refusal(differenceText(outcome), mismatchRemedy);
  } catch (error) {
    throw asJudgeError(error).within("selftest");
  }
}

const mismatchRemedy =
  "a weight of head or encoder is damaged: restore the original files; or hidden states are only named wrong: run prefill-judge doctor";

/**
 * The files that the selftest was made for.
 * @param encoderFiles SHA-256 (hex) by name
 * @throws JudgeError `checkpoint` naming the first that is missing or another one
 */
export function checkFiles(
  { selftest, files }: Pick<Subject["checkpoint"], "selftest" | "files">,
  encoderFiles: Readonly<Record<string, string>>,
): void {
  for (const [path, expected] of Object.entries(selftest?.files ?? {})) {
    const name = path.startsWith("encoder/") ? path.slice("encoder/".length) : null;
    const found = name === null ? files[path] : encoderFiles[name];
    if (found === expected) continue;
    const what = found === undefined ? "is missing" : "has another SHA-256 than the file it was made for";
    throw refusal(`${path} ${what}`, "it is damaged or was replaced: restore the original");
  }
}

/**
 * What the prompts come to.
 * @returns null for a checkpoint without selftest
 * @throws JudgeError `checkpoint` when a prompt cannot be encoded, or its token ids are others
 */
export async function measureSelftest(subject: Subject, view: View): Promise<SelftestOutcome | null> {
  const { selftest, head } = subject.checkpoint;
  if (selftest === null) return null;
  const { prompts, tolerance } = selftest;
  const encodings = await encodePrompts(subject, selftest, view, requiredFeatures(head).layers);
  const differences = encodings.flatMap(({ pooled }, index) => {
    const computed = probabilities(head, pooled, subject.multiply);
    return head.outputNames.map((output, place) => {
      const found = Math.abs(computed[place]! - (prompts[index]!.probabilities[output] ?? Number.NaN));
      const difference = Number.isNaN(found) ? Number.POSITIVE_INFINITY : found;
      return { prompt: index + 1, output, difference };
    });
  });
  const largest = differences.reduce((a, b) => (b.difference > a.difference ? b : a));
  return { prompts: prompts.length, tolerance, passed: largest.difference <= tolerance, largest };
}

/** The finding of a selftest that did not pass. */
export function differenceText({ largest, tolerance }: SelftestOutcome): string {
  const { prompt, output, difference } = largest;
  return `prompt ${prompt}, output ${output}: the probability differs by ${difference.toPrecision(3)} from the reference, admitted are ${tolerance}`;
}

/**
 * The pooled hidden states of the selftest's prompts, which run whole.
 * @throws JudgeError `checkpoint` when a prompt cannot be encoded, or its token ids are others
 */
export async function encodePrompts(
  subject: Subject,
  { prompts }: Selftest,
  view: View,
  layers: readonly number[],
): Promise<Encoding[]> {
  const { checkpoint, encoder } = subject;
  const texts = prompts.map(({ prompt }) => prompt);
  const whole: View = { ...view, maxTokens: encoder.facts.maxTokens };
  const { pooling } = requiredFeatures(checkpoint.head);
  const tokens = await encoder.tokenize(texts, whole);
  const { encodings } = await encoder.encode(texts, { view: whole, layers, pooling });
  return prompts.map(({ inputIds }, index) => {
    const ids = tokens[index] as Tokens | JudgeError;
    const encoding = encodings[index]!;
    if (ids instanceof JudgeError) throw unreadable(index, ids);
    if (encoding instanceof JudgeError) throw unreadable(index, encoding);
    if (ids.ids.join() !== inputIds.join()) {
      throw refusal(
        `prompt ${index + 1} gives other token ids than the reference`,
        `the tokenizer of encoder ${encoder.id} is not the one of ${checkpoint.encoderName}`,
      );
    }
    return encoding;
  });
}

function unreadable(index: number, error: JudgeError): JudgeError {
  return error.within(`prompt ${index + 1} cannot be encoded`).withCode("checkpoint");
}

function refusal(found: string, remedy: string): JudgeError {
  return new JudgeError("checkpoint", { found, remedy });
}
