// What a model file must take and give, by its own description and by the shape of its outputs.
import type { InferenceSession } from "onnxruntime-node";
import { type ErrorText, JudgeError } from "../../../errors.js";
import { extraInputs } from "./extra-inputs.js";
import { layerOf } from "./hidden-states.js";

/** What to do about a model that does not keep it. */
export const contractAdvice =
  "export it with inputs input_ids, attention_mask [batch, sequence] (int64) and optionally position_ids, token_type_ids (int64), past_key_values.N.key|value (float32), outputs hidden_states.N [batch, sequence, hidden] (float32) and optionally present.N.key|value [batch, heads, past + sequence, size] (float32), batch and sequence of any size";

/**
 * The hidden states that a model gives, and their size.
 * @throws JudgeError `encoder` with what the model's inputs or outputs are instead
 */
export function readContract(session: InferenceSession): { layers: number[]; hiddenSize: number } {
  for (const input of session.inputMetadata) checkInput(input);
  for (const name of ["input_ids", "attention_mask"]) {
    if (!session.inputNames.includes(name)) throw refusal({ found: `has no input ${name}` });
  }
  const outputs = session.outputMetadata.filter(({ name }) => layerOf(name) !== null);
  if (outputs.length === 0) throw refusal({ found: "has no output hidden_states.N" });
  const sizes = new Set(outputs.map(hiddenSizeOf));
  const [hiddenSize] = sizes;
  if (sizes.size !== 1)
    throw refusal({ found: `has hidden_states outputs of sizes ${[...sizes].join(", ")}` });
  const layers = outputs.map(({ name }) => layerOf(name)!);
  return { layers: layers.sort((a, b) => a - b), hiddenSize: hiddenSize! };
}

/**
 * @param shape of what a run gave
 * @throws JudgeError `encoder_error`, since rows could be another text's
 */
export function checkShape(name: string, shape: readonly number[], wanted: readonly number[]): void {
  if (shape.length === wanted.length && wanted.every((size, axis) => size === shape[axis])) return;
  throw new JudgeError("encoder_error", { found: `output ${name} is [${shape}]`, wanted: `[${wanted}]` });
}

function checkInput(input: InferenceSession.ValueMetadata): void {
  const { name } = input;
  const isPast = /^past_key_values\.\d+\.(key|value)$/.test(name);
  const isKnown = ["input_ids", "attention_mask", ...extraInputs].includes(name);
  if (!isPast && !isKnown) throw refusal({ found: `has an input ${name}` });
  const type = isPast ? "float32" : "int64";
  if (!input.isTensor || input.type !== type)
    throw refusal({
      found: `has an input ${name} of ${input.isTensor ? input.type : "no tensor"}`,
      wanted: type,
    });
  const fixed = input.shape.slice(0, isPast ? 1 : 2).find((size) => typeof size === "number");
  if ((!isPast && input.shape.length !== 2) || fixed !== undefined)
    throw refusal({ found: `has an input ${name} of the fixed shape [${input.shape}]` });
}

function hiddenSizeOf(output: InferenceSession.ValueMetadata): number {
  const { name } = output;
  if (!output.isTensor || output.type !== "float32")
    throw refusal({ found: `has an output ${name} that is not float32` });
  const size = output.shape[2];
  if (output.shape.length !== 3 || typeof size !== "number")
    throw refusal({
      found: `has an output ${name} of shape [${output.shape}], without one fixed hidden size`,
    });
  return size;
}

function refusal({ found, wanted }: ErrorText): JudgeError {
  return new JudgeError("encoder", { found: `model.onnx ${found}`, wanted, remedy: contractAdvice });
}
