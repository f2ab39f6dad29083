// Sizes of a model that its graph may leave open.

export interface Sizes {
  readonly hiddenSize: number;
  /** of keys and values in a cache: heads, and the size of each; null where config.json does not say */
  readonly cache: readonly [heads: number, size: number] | null;
}
