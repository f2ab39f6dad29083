// The tensors of a head under the names that router.json format 2 gives them.
import { type HeadWeights, rawSizeOf } from "../head/weights.js";

/** The name, values and shape of each tensor. */
export function tensorsOf({
  blocks,
  members,
}: HeadWeights): [name: string, values: Float32Array, shape: number[]][] {
  const tensors: [string, Float32Array, number[]][] = [];
  blocks.forEach((block, index) => {
    const name = `blocks.${index}`;
    const rawSize = rawSizeOf(block);
    const { combination, layers, hiddenSize } = block;
    if (combination.kind === "standardised_mean") {
      tensors.push([`${name}.layer_mean`, combination.layerMean, [layers.length, hiddenSize]]);
      tensors.push([`${name}.layer_scale`, combination.layerScale, [layers.length, hiddenSize]]);
    }
    tensors.push([`${name}.scaler_mean`, block.scalerMean, [rawSize]]);
    tensors.push([`${name}.scaler_scale`, block.scalerScale, [rawSize]]);
    tensors.push([`${name}.pca_mean`, block.pcaMean, [rawSize]]);
    tensors.push([`${name}.pca_components`, block.pcaComponents, [block.pcaSize, rawSize]]);
  });
  members.forEach((member, index) => {
    const name = `members.${index}`;
    const named =
      member.kind === "shared"
        ? member.layers.map((layer, position) => [`layers.${position}`, layer] as const)
        : [
            ...member.adapters.map((layer, output) => [`adapters.${output}`, layer] as const),
            ["trunk", member.trunk] as const,
            ...member.heads.map((layer, output) => [`heads.${output}`, layer] as const),
          ];
    for (const [part, { weight, bias, outputSize, inputSize }] of named) {
      tensors.push([`${name}.${part}.weight`, weight, [outputSize, inputSize]]);
      tensors.push([`${name}.${part}.bias`, bias, [outputSize]]);
    }
  });
  return tensors;
}
