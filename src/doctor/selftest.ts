// The selftest as `doctor` reports it: how near the probabilities come, and whether captured rows are named right.

import type { View } from "../encoder/view.js";
import type { JudgeError } from "../errors.js";
import { requiredFeatures } from "../head/head.js";
import type { Judge } from "../judge/judge-parts.js";
import { checkLayers } from "../judge/prepare.js";
import {
  compareLabellings,
  differenceText,
  measureSelftest,
  type SelftestOutcome,
} from "../judge/selftest.js";
import { type Finding, faultFinding, finding } from "./finding.js";
import type { LabellingFinding } from "./labelling.js";
import { labellingAdvice, labellingText } from "./labelling-text.js";
import { list, small } from "./text.js";

/** @param short an error's message */
export async function examineSelftest(
  judge: Judge,
  view: View,
  short: (error: unknown) => string,
): Promise<Finding[]> {
  try {
    const labels = await compareLabellings(judge, view);
    const missing = await checkLayers(judge, view).then(() => null, short);
    if (missing !== null) {
      const skipped = finding("selftest", "skipped", "the encoder does not give the layers");
      return [{ ...faultFinding("layers", missing), values: labellingValues(labels) }, skipped];
    }
    const outcome = await measureSelftest(judge, view);
    return [layersFinding(judge, labels, outcome), selftestFinding(judge, labels, outcome)];
  } catch (error) {
    return [faultFinding("selftest", short(error))];
  }
}

function layersFinding(
  { checkpoint, encoder }: Judge,
  labels: LabellingFinding | null,
  outcome: SelftestOutcome | null,
): Finding {
  const { layers } = requiredFeatures(checkpoint.head);
  const { captured, layerDoubt } = encoder.facts;
  const values = { layers, ...labellingValues(labels) };
  const reads = `reads hidden states ${list(layers)}`;
  if (captured === undefined) return finding("layers", "ok", reads, null, values);
  const found = `${reads}; ${labellingText(captured)}`;
  if (labels === null || outcome === null) {
    const advice =
      "without a selftest nobody knows whether the rows are named right; compare with the server's own settings";
    return unprovenFinding(layerDoubt, found, advice, values);
  }
  const advice = labellingAdvice(labels, checkpoint.encoderName);
  if (!outcome.passed) {
    const isNamedRight = labels.kind === "close" && labels.best?.isConfigured === true;
    return finding("layers", isNamedRight ? "ok" : "wrong", found, isNamedRight ? null : advice, values);
  }
  if (labels.kind === "several") {
    const alike = `${found}; the selftest does not tell the rows apart`;
    return unprovenFinding(layerDoubt, alike, advice, values);
  }
  const next =
    labels.nextDifference === null ? "" : `; read otherwise they differ by ${small(labels.nextDifference)}`;
  return finding("layers", "ok", `${found}: as the selftest wants them${next}`, null, values);
}

/** Rows of which no selftest tells whether they are named right; their order is the first thing to mend. */
function unprovenFinding(
  layerDoubt: JudgeError | undefined,
  found: string,
  advice: string,
  values: Finding["values"],
): Finding {
  return layerDoubt === undefined
    ? finding("layers", "warning", found, advice, values)
    : finding("layers", "warning", `${found}; ${layerDoubt.found}`, layerDoubt.remedy, values);
}

function selftestFinding(
  { checkpoint }: Judge,
  labels: LabellingFinding | null,
  outcome: SelftestOutcome | null,
): Finding {
  if (outcome === null) {
    const advice = "train a judge with a selftest, or run verify with reference rows";
    const found = "none: that head and encoder are undamaged and fit cannot be told";
    return finding("selftest", "warning", found, advice);
  }
  const { largest, prompts, tolerance, passed } = outcome;
  const values = { prompts, difference: largest.difference, tolerance };
  if (passed) {
    const found = `${prompts} prompts agree within ${tolerance}, largest difference ${small(largest.difference)}`;
    return finding("selftest", "ok", found, null, values);
  }
  const advice =
    labels === null
      ? "a weight of head or encoder is damaged: restore the original files"
      : labels.kind === "close" && labels.best?.isConfigured === true
        ? labellingAdvice(labels, checkpoint.encoderName)
        : "see layers";
  return finding("selftest", "wrong", differenceText(outcome), advice, values);
}

/** For scripts: what would fit. */
function labellingValues(labels: LabellingFinding | null): Finding["values"] {
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
