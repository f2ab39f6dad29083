// What must hold before a judge serves: the checkpoint fits its encoder, the files are those the selftest was made
// for, and the selftest's token ids and probabilities come out again.
import type { Tokens, View } from "../encoder/encoder.js";
import { JudgeError } from "../errors.js";
import { probabilities, requiredFeatures } from "../head/head.js";
import type { JudgeParts } from "./judge.js";

const defaultMaxTokens = 2048;
/** Tokens of user text below which a judgement means nothing. */
const minTextTokens = 8;

/**
 * The judge's view, from its settings and what its encoder can do.
 *
 * @throws JudgeError `checkpoint` when head and encoder do not fit, `config` when max_tokens does not
 */
export function prepareView({ id, checkpoint, encoder, maxTokens, truncation }: JudgeParts): View {
  const { facts } = encoder;
  for (const block of checkpoint.head.blocks) {
    if (block.hiddenSize !== facts.hiddenSize) {
      throw new JudgeError(
        "checkpoint",
        `judge ${id}: checkpoint ${checkpoint.folder} wants hidden size ${block.hiddenSize}, encoder ${encoder.id} has ${facts.hiddenSize}; use the encoder it was trained on (${checkpoint.encoderName})`,
      );
    }
    const missing = block.layers.filter((layer) => !facts.layers.includes(layer));
    if (missing.length > 0) {
      throw new JudgeError(
        "checkpoint",
        `judge ${id}: checkpoint ${checkpoint.folder} wants hidden states ${missing.join(", ")}, encoder ${encoder.id} gives ${facts.layers.join(", ")}; use the encoder it was trained on (${checkpoint.encoderName})`,
      );
    }
  }
  const template = facts.hasChatTemplate ? "chat" : "none";
  const smallest = facts.frameTokens[template] + minTextTokens;
  const wanted = maxTokens ?? Math.min(defaultMaxTokens, facts.maxTokens);
  if (wanted > facts.maxTokens || wanted < smallest) {
    throw new JudgeError(
      "config",
      `judges.${id}.max_tokens is ${wanted}, encoder ${encoder.id} takes ${smallest} to ${facts.maxTokens} tokens`,
    );
  }
  return { template, maxTokens: wanted, truncation };
}

/** @throws JudgeError `checkpoint` with what differs; does nothing for a checkpoint without selftest.json */
export async function runSelftest({ id, checkpoint, encoder }: JudgeParts, view: View): Promise<void> {
  const { selftest, folder, head } = checkpoint;
  if (selftest === null) return;
  const refuse = (finding: string, remedy: string) =>
    new JudgeError("checkpoint", `judge ${id}: checkpoint ${folder}: selftest: ${finding}; ${remedy}`);

  for (const [path, expected] of Object.entries(selftest.files)) {
    const name = path.startsWith("encoder/") ? path.slice("encoder/".length) : null;
    const found = name === null ? checkpoint.files[path] : encoder.facts.files[name];
    if (found !== expected) {
      const what = found === undefined ? "is missing" : "has another SHA-256 than the file it was made for";
      throw refuse(`${path} ${what}`, "it is damaged or was replaced: restore the original");
    }
  }

  // short prompts, run in one view whatever the judge's own limit is
  const texts = selftest.prompts.map((entry) => entry.prompt);
  const whole: View = { ...view, maxTokens: encoder.facts.maxTokens };
  const tokens = await encoder.tokenize(texts, whole);
  const { encodings } = await encoder.encode(texts, { view: whole, ...requiredFeatures(head) });
  selftest.prompts.forEach((entry, index) => {
    const ids = tokens[index] as Tokens | JudgeError;
    const encoding = encodings[index]!;
    if (ids instanceof JudgeError || encoding instanceof JudgeError) {
      throw refuse(`prompt ${index + 1} cannot be encoded`, `check encoder ${encoder.id}`);
    }
    if (ids.ids.join() !== entry.inputIds.join()) {
      throw refuse(
        `prompt ${index + 1} gives other token ids than the reference`,
        `the tokenizer of encoder ${encoder.id} is not the one of ${checkpoint.encoderName}`,
      );
    }
    const computed = probabilities(head, encoding.pooled);
    head.outputNames.forEach((name, output) => {
      const difference = Math.abs(computed[output]! - (entry.probabilities[name] ?? Number.NaN));
      if (!(difference <= selftest.tolerance)) {
        throw refuse(
          `prompt ${index + 1}, output ${name}: the probability differs by ${difference.toPrecision(3)} from the reference, admitted are ${selftest.tolerance}`,
          "a weight of head or encoder is damaged: restore the original files",
        );
      }
    });
  });
}
