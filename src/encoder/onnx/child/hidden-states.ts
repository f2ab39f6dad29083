// The names of a model's hidden-state outputs: 0 = embeddings, k = output of block k.

const prefix = "hidden_states.";

export function outputName(layer: number): string {
  return `${prefix}${layer}`;
}

/** null for an output that is no hidden state */
export function layerOf(name: string): number | null {
  return /^hidden_states\.\d+$/.test(name) ? Number(name.slice(prefix.length)) : null;
}
