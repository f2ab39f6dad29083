// Checks that a checkpoint fits its encoder. The selftest checks what it computes there.
import { checkView } from "../encoder/check-view.js";
import type { View } from "../encoder/view.js";
import { asJudgeError, JudgeError } from "../errors.js";
import { requiredFeatures } from "../head/head.js";
import type { JudgeParts } from "./judge-parts.js";
import type { Subject } from "./selftest.js";

const defaultMaxTokens = 2048;
/** Tokens of user text below which a judgement means nothing. */
const minTextTokens = 8;

/**
 * The judge's view, from its settings, its checkpoint and what its encoder can do.
 * @throws JudgeError `checkpoint` when head and encoder do not fit, `config` when max_tokens does not
 */
export function prepareView(parts: JudgeParts): View {
  const { id, checkpoint, encoder } = parts;
  checkIdentity(parts);
  checkHiddenSize(parts);
  const { facts } = encoder;
  const template = checkpoint.view?.template ?? (facts.chatTemplateHash === null ? "none" : "chat");
  if (template === "chat" && facts.chatTemplateHash === null) {
    throw misfit(parts, "wants a chat template", "has none");
  }
  const smallest = facts.templateTokens[template] + minTextTokens;
  const fitting = Math.min(checkpoint.view?.max_tokens ?? defaultMaxTokens, facts.maxTokens);
  const maxTokens = parts.maxTokens ?? fitting;
  if (maxTokens > facts.maxTokens || maxTokens < smallest) {
    throw new JudgeError("config", {
      found: `judges.${id}.max_tokens is ${maxTokens}, encoder ${encoder.id} takes ${smallest} to ${facts.maxTokens} tokens`,
    });
  }
  const truncation = parts.truncation ?? checkpoint.view?.truncation ?? "middle";
  const spaces = parts.spaces ?? checkpoint.view?.spaces ?? "keep";
  const view = { template, templateArguments: checkpoint.chatTemplateKwargs, maxTokens, truncation };
  return spaces === "single" ? { ...view, spaces } : view;
}

/**
 * What is to be said of a view that reads fewer tokens than its checkpoint was trained with, because its
 * encoder takes no more; null where there is nothing.
 */
export function loweredWarning(
  { checkpoint, encoder }: Pick<Subject, "checkpoint" | "encoder">,
  { maxTokens }: View,
): string | null {
  const trained = checkpoint.view?.max_tokens ?? 0;
  if (trained <= encoder.facts.maxTokens || maxTokens < encoder.facts.maxTokens) return null;
  return `at most ${maxTokens} tokens of a text are read, the checkpoint was trained with ${trained}: encoder ${encoder.id} takes no more`;
}

/** Names and hashes, as far as both sides give them. */
function checkIdentity(parts: JudgeParts): void {
  const { checkpoint, encoder, acceptEncoder } = parts;
  const { modelName, facts } = encoder;
  if (modelName !== null && modelName !== checkpoint.encoderName && modelName !== acceptEncoder) {
    const remedy = `name that encoder, or if they are the same model, set accept_encoder = "${modelName}"`;
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

function checkHiddenSize(parts: JudgeParts): void {
  const { checkpoint, encoder } = parts;
  const { facts } = encoder;
  for (const { hiddenSize } of checkpoint.head.blocks) {
    if (hiddenSize !== facts.hiddenSize) {
      throw misfit(parts, `wants hidden size ${hiddenSize}`, `has ${facts.hiddenSize}`);
    }
  }
}

/** The hidden states that the head reads and the encoder does not give, as it is configured. */
export function missingLayers({ checkpoint, encoder }: Pick<Subject, "checkpoint" | "encoder">): number[] {
  return requiredFeatures(checkpoint.head).layers.filter((layer) => !encoder.facts.layers.includes(layer));
}

/**
 * Checks that the encoder gives every layer that the head reads.
 * @throws JudgeError `checkpoint` naming both sides
 */
export function checkLayers(subject: Pick<Subject, "checkpoint" | "encoder">): void {
  const missing = missingLayers(subject);
  if (missing.length === 0) return;
  const { layers } = subject.encoder.facts;
  const given = layers.length === 0 ? "gives none" : `gives ${layers.join(", ")}`;
  const remedy = `use the encoder it was trained on (${subject.checkpoint.encoderName}), or run prefill-judge doctor, which finds hidden states that are only named wrong`;
  throw misfit(subject, `wants hidden states ${missing.join(", ")}`, given, remedy);
}

/**
 * Checks that the encoder can read a text as the checkpoint wants it.
 * @throws JudgeError `checkpoint` naming the encoder
 */
export async function checkReading({ encoder }: Pick<Subject, "encoder">, view: View): Promise<void> {
  try {
    await checkView(encoder, view);
  } catch (error) {
    const fault = asJudgeError(error);
    throw fault.code === "encoder" ? fault.withCode("checkpoint") : error;
  }
}

function misfit(
  { checkpoint, encoder }: Pick<Subject, "checkpoint" | "encoder">,
  wanted: string,
  found: string,
  remedy = `use the encoder it was trained on (${checkpoint.encoderName})`,
): JudgeError {
  return new JudgeError("checkpoint", {
    found: `the checkpoint ${wanted}, encoder ${encoder.id} ${found}`,
    remedy,
  });
}
