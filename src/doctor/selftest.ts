// The selftest as `doctor` reports it, and whether captured rows have their right names.

import { faultObservation, type Observation, observation } from "../encoder/observation.js";
import type { View } from "../encoder/view.js";
import { asJudgeError, type JudgeError } from "../errors.js";
import { requiredFeatures } from "../head/head.js";
import type { Judge } from "../judge/judge-parts.js";
import { checkLayers, missingLayers } from "../judge/prepare.js";
import { differenceText, encodePrompts, measureSelftest, type SelftestOutcome } from "../judge/selftest.js";
import { findLabelling, type LabelledSample, type Labelling, type LabellingFinding } from "./labelling.js";
import { labellingAdvice, labellingText } from "./labelling-text.js";
import { list, small } from "./text.js";

/** A judge on its encoder, and how its configuration names the encoder's rows. */
export interface LabelledJudge {
  readonly judge: Judge;
  readonly view: View;
  /** null: the encoder itself names its hidden states */
  readonly labelling: Labelling | null;
}

export async function examineSelftest(subject: LabelledJudge): Promise<Observation[]> {
  const { judge, view } = subject;
  try {
    const labels = await compareLabellings(subject);
    const misfit = layersMisfit(judge);
    if (misfit !== null) {
      const missing = {
        ...faultObservation("layers", misfit),
        advice: missingAdvice(subject, labels) ?? misfit.remedy,
        values: labellingValues(labels),
      };
      const found = "the encoder does not give the layers";
      return [missing, observation("selftest", "skipped", { found })];
    }
    const outcome = await measureSelftest(judge, view);
    return [layersObservation(subject, labels, outcome), selftestObservation(judge, labels, outcome)];
  } catch (error) {
    return [faultObservation("selftest", asJudgeError(error))];
  }
}

/**
 * Which names of the encoder's rows bring out the selftest's probabilities.
 * @returns null where the encoder itself names its hidden states, or there is no selftest
 * @throws JudgeError as `measureSelftest` does
 */
async function compareLabellings({
  judge,
  view,
  labelling,
}: LabelledJudge): Promise<LabellingFinding | null> {
  const { selftest, head } = judge.checkpoint;
  if (labelling === null || selftest === null) return null;
  const rows = labelling.capturedLayers.map((layer) => layer + labelling.layerOffset);
  const encodings = await encodePrompts(judge, selftest, view, rows);
  const samples: LabelledSample[] = encodings.map(({ pooled }, index) => ({
    pooled,
    probabilities: selftest.prompts[index]!.probabilities,
  }));
  return findLabelling(head, samples, labelling, selftest.tolerance);
}

function layersMisfit(judge: Judge): JudgeError | null {
  try {
    checkLayers(judge);
    return null;
  } catch (error) {
    return asJudgeError(error);
  }
}

/** What to do about layers that the head reads and the encoder lacks; null where nobody knows. */
function missingAdvice({ judge, labelling }: LabelledJudge, labels: LabellingFinding | null): string | null {
  const { encoderName } = judge.checkpoint;
  const isElsewhere = labels?.kind === "fits" && labels.best?.isConfigured === false;
  const missing = missingLayers(judge);
  if (!isElsewhere && labelling?.capturedLayers.some((id) => missing.includes(id + labelling.layerOffset)))
    return "the last block's output comes from there before the model's final norm: train on a lower layer";
  return labels && labellingAdvice(labels, encoderName);
}

function layersObservation(
  { judge: { checkpoint, encoder }, labelling }: LabelledJudge,
  labels: LabellingFinding | null,
  outcome: SelftestOutcome | null,
): Observation {
  const { layers } = requiredFeatures(checkpoint.head);
  const { layerDoubt } = encoder.facts;
  const values = { layers, ...labellingValues(labels) };
  const reads = `reads hidden states ${list(layers)}`;
  if (labelling === null) return observation("layers", "ok", { found: reads, values });
  const found = `${reads}; ${labellingText(labelling)}`;
  if (labels === null || outcome === null) {
    const advice =
      "without a selftest nobody knows whether the rows are named right; compare with the server's own settings";
    return unprovenObservation(layerDoubt, found, advice, values);
  }
  const advice = labellingAdvice(labels, checkpoint.encoderName);
  if (!outcome.passed) {
    const isNamedRight = labels.kind === "close" && labels.best?.isConfigured === true;
    return observation("layers", isNamedRight ? "ok" : "wrong", {
      found,
      advice: isNamedRight ? null : advice,
      values,
    });
  }
  if (labels.kind === "several") {
    const alike = `${found}; the selftest does not tell the rows apart`;
    return unprovenObservation(layerDoubt, alike, advice, values);
  }
  const next =
    labels.nextDifference === null ? "" : `; read otherwise they differ by ${small(labels.nextDifference)}`;
  return observation("layers", "ok", { found: `${found}: as the selftest wants them${next}`, values });
}

/** Rows of which no selftest tells whether they are named right; their order is the first thing to mend. */
function unprovenObservation(
  layerDoubt: JudgeError | undefined,
  found: string,
  advice: string,
  values: Observation["values"],
): Observation {
  return layerDoubt === undefined
    ? observation("layers", "warning", { found, advice, values })
    : observation("layers", "warning", {
        found: `${found}; ${layerDoubt.found}`,
        advice: layerDoubt.remedy,
        values,
      });
}

function selftestObservation(
  { checkpoint }: Judge,
  labels: LabellingFinding | null,
  outcome: SelftestOutcome | null,
): Observation {
  if (outcome === null) {
    const advice = "train a judge with a selftest, or run verify with reference rows";
    const found = "none: that head and encoder are undamaged and fit cannot be told";
    return observation("selftest", "warning", { found, advice });
  }
  const { largest, prompts, tolerance, passed } = outcome;
  const values = { prompts, difference: largest.difference, tolerance };
  if (passed) {
    const found = `${prompts} prompts agree within ${tolerance}, largest difference ${small(largest.difference)}`;
    return observation("selftest", "ok", { found: `${found}${nearThreshold(largest.difference)}`, values });
  }
  const isPrecision = labels?.kind === "close" && labels.best?.isConfigured === true;
  const advice =
    labels === null
      ? "a weight of head or encoder is damaged: restore the original files"
      : isPrecision
        ? labellingAdvice(labels, checkpoint.encoderName)
        : "see layers";
  const found = `${differenceText(outcome)}${isPrecision ? nearThreshold(largest.difference) : ""}`;
  return observation("selftest", "wrong", { found, advice, values });
}

/** From here on a difference may change choices; it comes of another precision, such as bfloat16. */
const tellingDifference = 1e-4;

/** What a difference means for a router. */
function nearThreshold(difference: number): string {
  if (difference < tellingDifference) return "";
  return `: where p_solve is nearer than ${small(difference)} to the router's threshold, its choice may be another than the checkpoint's makers saw`;
}

/** For scripts: what would fit. */
function labellingValues(labels: LabellingFinding | null): Observation["values"] {
  if (labels === null) return {};
  return {
    labelling: labels.kind,
    readings: (labels.best?.labellings ?? []).map(({ capturedLayers, layerOffset }) => ({
      captured_layers: capturedLayers,
      layer_offset: layerOffset,
    })),
    difference: finite(labels.best?.difference),
    next_difference: finite(labels.nextDifference),
    capture: labels.capture,
  };
}

function finite(value: number | null | undefined): number | null {
  return Number.isFinite(value) ? value! : null;
}
