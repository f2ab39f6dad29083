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
 * The judge's view, from its settings, its checkpoint and what its encoder can do.
 *
 * @throws JudgeError `checkpoint` when head and encoder do not fit, `config` when max_tokens does not
 */
export function prepareView(parts: JudgeParts): View {
  const { id, checkpoint, encoder } = parts;
  checkIdentity(parts);
  checkDimensions(parts);
  const { facts } = encoder;
  const template = checkpoint.view?.template ?? (facts.chatTemplateHash === null ? "none" : "chat");
  if (template === "chat" && facts.chatTemplateHash === null) {
    throw misfit(parts, "wants a chat template", "has none");
  }
  const smallest = facts.frameTokens[template] + minTextTokens;
  const fitting = Math.min(checkpoint.view?.max_tokens ?? defaultMaxTokens, facts.maxTokens);
  const maxTokens = parts.maxTokens ?? fitting;
  if (maxTokens > facts.maxTokens || maxTokens < smallest) {
    throw new JudgeError(
      "config",
      `judges.${id}.max_tokens is ${maxTokens}, encoder ${encoder.id} takes ${smallest} to ${facts.maxTokens} tokens`,
    );
  }
  const truncation = parts.truncation ?? checkpoint.view?.truncation ?? "middle";
  return { template, templateArguments: checkpoint.chatTemplateKwargs, maxTokens, truncation };
}

/** Names and hashes, as far as both sides give them. */
function checkIdentity(parts: JudgeParts): void {
  const { checkpoint, encoder, acceptEncoder } = parts;
  const { modelName, facts } = encoder;
  if (modelName !== null && modelName !== checkpoint.encoderName && modelName !== acceptEncoder) {
    const remedy = `if they are the same model, set accept_encoder = "${modelName}"`;
    throw misfit(parts, `was trained on ${checkpoint.encoderName}`, `is ${modelName}`, remedy);
  }
  for (const [name, hash] of Object.entries(checkpoint.encoderFiles)) {
    if (facts.files[name] === hash) continue;
    const found = facts.files[name] === undefined ? "has no such file" : "has another";
    throw misfit(parts, `was trained with ${name} of SHA-256 ${hash.slice(0, 16)}…`, found);
  }
  const templateHash = checkpoint.view?.template_sha256 ?? null;
  if (templateHash !== null && templateHash !== facts.chatTemplateHash) {
    throw misfit(
      parts,
      `was trained with a chat template of SHA-256 ${templateHash.slice(0, 16)}…`,
      "has another",
    );
  }
}

function checkDimensions(parts: JudgeParts): void {
  const { checkpoint, encoder } = parts;
  const { facts } = encoder;
  for (const { hiddenSize, layers } of checkpoint.head.blocks) {
    if (hiddenSize !== facts.hiddenSize) {
      throw misfit(parts, `wants hidden size ${hiddenSize}`, `has ${facts.hiddenSize}`);
    }
    const missing = layers.filter((layer) => !facts.layers.includes(layer));
    if (missing.length > 0) {
      throw misfit(parts, `wants hidden states ${missing.join(", ")}`, `gives ${facts.layers.join(", ")}`);
    }
  }
}

function misfit(
  { id, checkpoint, encoder }: JudgeParts,
  wanted: string,
  found: string,
  remedy?: string,
): JudgeError {
  const advice = remedy ?? `use the encoder it was trained on (${checkpoint.encoderName})`;
  return new JudgeError(
    "checkpoint",
    `judge ${id}: checkpoint ${checkpoint.path} ${wanted}, encoder ${encoder.id} ${found}; ${advice}`,
  );
}

/** @throws JudgeError `checkpoint` with what differs; does nothing for a checkpoint without selftest.json */
export async function runSelftest({ id, checkpoint, encoder }: JudgeParts, view: View): Promise<void> {
  const { selftest, path: checkpointPath, head } = checkpoint;
  if (selftest === null) return;
  const refuse = (finding: string, remedy: string) =>
    new JudgeError(
      "checkpoint",
      `judge ${id}: checkpoint ${checkpointPath}: selftest: ${finding}; ${remedy}`,
    );

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
