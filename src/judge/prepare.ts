// What must hold before a judge serves: that the checkpoint fits its encoder. Whether it computes what it should there is
// the selftest's matter.

import { labellingAdvice } from "../doctor/labelling-text.js";
import { checkView } from "../encoder/check-view.js";
import type { View } from "../encoder/view.js";
import { asJudgeError, JudgeError } from "../errors.js";
import { requiredFeatures } from "../head/head.js";
import type { JudgeParts } from "./judge-parts.js";
import { compareLabellings, type Subject } from "./selftest.js";

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
  checkHiddenSize(parts);
  const { facts } = encoder;
  const template = checkpoint.view?.template ?? (facts.chatTemplateHash === null ? "none" : "chat");
  if (template === "chat" && facts.chatTemplateHash === null) {
    throw misfit(parts, "wants a chat template", "has none");
  }
  const smallest = facts.frameTokens[template] + minTextTokens;
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
 * That the encoder gives every layer that the head reads. Where it may only name them otherwise, the selftest tells how.
 *
 * @throws JudgeError `checkpoint` naming both sides
 */
export async function checkLayers(subject: Subject, view: View): Promise<void> {
  const missing = missingLayers(subject);
  if (missing.length === 0) return;
  const { layers } = subject.encoder.facts;
  const gives = layers.length === 0 ? "gives none" : `gives ${layers.join(", ")}`;
  throw misfit(
    subject,
    `wants hidden states ${missing.join(", ")}`,
    gives,
    await remedyFor(subject, view, missing),
  );
}

/**
 * That the encoder can read a text as the checkpoint wants it.
 *
 * @throws JudgeError `checkpoint` naming both sides
 */
export async function checkReading({ id, checkpoint, encoder }: Subject, view: View): Promise<void> {
  await checkView(encoder, view).catch((error: unknown) => {
    const { code, message } = asJudgeError(error);
    if (code !== "encoder") throw error;
    throw new JudgeError(
      "checkpoint",
      { found: `judge ${id}: checkpoint ${checkpoint.path}: ${message}` },
      {
        cause: error,
      },
    );
  });
}

async function remedyFor(
  subject: Subject,
  view: View,
  missing: readonly number[],
): Promise<string | undefined> {
  const { checkpoint, encoder } = subject;
  const { captured } = encoder.facts;
  // the refusal stands whether the search for a remedy succeeds or not
  const finding = await compareLabellings(subject, view).catch(() => null);
  if (finding?.kind === "fits" && finding.best?.isConfigured === false)
    return labellingAdvice(finding, checkpoint.encoderName);
  if (captured?.capturedLayers.some((id) => missing.includes(id + captured.layerOffset))) {
    return "the last block's output comes from there before the model's final norm: train on a lower layer";
  }
  return finding === null ? undefined : labellingAdvice(finding, checkpoint.encoderName);
}

function misfit(
  { id, checkpoint, encoder }: Subject,
  wanted: string,
  found: string,
  remedy?: string,
): JudgeError {
  const advice = remedy ?? `use the encoder it was trained on (${checkpoint.encoderName})`;
  return new JudgeError("checkpoint", {
    found: `judge ${id}: checkpoint ${checkpoint.path} ${wanted}, encoder ${encoder.id} ${found}`,
    remedy: advice,
  });
}
