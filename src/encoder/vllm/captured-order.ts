// The order in which a server is asked for layers, and the one in which it gives them.
import { JudgeError } from "../../errors.js";

/**
 * A server captures layers as the model runs them, whatever the order of the ids it was given.
 * @returns a warning; null for ids in rising order
 */
export function orderWarning(capturedLayers: readonly number[]): JudgeError | null {
  if (capturedLayers.every((id, place) => place === 0 || id > capturedLayers[place - 1]!)) return null;
  return new JudgeError("encoder", {
    found: "captured_layers is not in rising order, in which vLLM captures layers whatever order it is given",
    remedy:
      "put it and the server's eagle_aux_hidden_state_layer_ids in rising order: only a selftest notices layers that are swapped",
  });
}
