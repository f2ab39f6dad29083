// What a search for the rows' labels came to, in words: the finding, and what to do about it.
import type { Labelling, LabellingFinding } from "./labelling.js";

/**
 * The end of a refusal: what would fit, or what to try next.
 * @param encoderName of the model that the checkpoint was trained on
 */
export function labellingAdvice(
  { kind, best, nextDifference, capture }: LabellingFinding,
  encoderName: string,
): string {
  const replace = `another model, other weights or another precision: serve ${encoderName}, or train on this server`;
  const difference = best?.difference.toPrecision(2);
  const settings = best?.labellings.map(labellingText).join(", or ");
  switch (kind) {
    case "fits":
      return `the rows fit when ${settings}: set that in the encoder's table`;
    case "several":
      return `several readings of the rows fit, first ${settings}: compare with the server's eagle_aux_hidden_state_layer_ids`;
    case "close":
      return `${best?.isConfigured ? "the rows are named right" : "best is"} (${settings}: difference ${difference}, the next best ${nextDifference?.toPrecision(2)}): the same model at another precision? Train, or make the selftest, on this server (convert --selftest)`;
    case "neighbours":
      return `no reading of the captured rows fits: let the server capture the neighbours too, eagle_aux_hidden_state_layer_ids and captured_layers = ${list(capture)}, and run prefill-judge doctor again`;
    case "none":
      return `no order or offset of the captured rows fits${best ? ` (best difference ${difference})` : ""}: ${replace}`;
  }
}

/** As it stands in the encoder's table. */
export function labellingText({ capturedLayers, layerOffset }: Labelling): string {
  return `captured_layers = ${list(capturedLayers)}, layer_offset = ${layerOffset}`;
}

function list(ids: readonly number[]): string {
  return `[${ids.join(", ")}]`;
}
