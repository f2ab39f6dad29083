// The forward pass of one ensemble member, the same in training and in service.
import { type Multiply, multiply as usualMultiply } from "./multiply.js";
import type { Linear, Member } from "./weights.js";

/** W·x + b with the sum in float64, optionally through ReLU; input [inputSize] → [outputSize]. */
export function linear(
  layer: Linear,
  input: Float64Array,
  relu: boolean,
  multiply: Multiply = usualMultiply,
): Float64Array {
  const { outputSize, weight, bias } = layer;
  const output = multiply(weight, outputSize, input);
  for (let row = 0; row < outputSize; row++) {
    const sum = output[row]! + bias[row]!;
    output[row] = relu && sum < 0 ? 0 : sum;
  }
  return output;
}

/** Features [inputSize] → one logit per output. */
export function memberLogits(
  member: Member,
  features: Float64Array,
  multiply: Multiply = usualMultiply,
): Float64Array {
  if (member.kind === "shared") {
    const last = member.layers.length - 1;
    return member.layers.reduce(
      (activation, layer, index) => linear(layer, activation, index < last, multiply),
      features,
    );
  }
  const { adapters, trunk, heads } = member;
  return Float64Array.from(heads, (head, output) => {
    const adapted = linear(adapters[output]!, features, true, multiply);
    return linear(head, linear(trunk, adapted, true, multiply), false, multiply)[0]!;
  });
}
