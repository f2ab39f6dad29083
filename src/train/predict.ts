// The serving head over a table of pooled vectors, for training and evaluation.
import { type PooledKey, type PooledVectors, pooledKey } from "../features/pooled.js";
import { probabilities } from "../head/head.js";
import { transformBlock } from "../head/transform.js";
import type { FeatureBlock, HeadWeights } from "../head/weights.js";
import type { Table } from "./fit/scaler.js";

/** What a block's table holds: a row is the layers' pooled vectors side by side. */
export type TableView = Pick<FeatureBlock, "layers" | "pooling" | "hiddenSize">;

/** The row as an encoder would have delivered it. */
function pooledRow(view: TableView, { columns, data }: Table, row: number): PooledVectors {
  const vectors = new Map<PooledKey, Float32Array>();
  view.layers.forEach((layer, position) => {
    const start = row * columns + position * view.hiddenSize;
    vectors.set(pooledKey(layer, view.pooling), data.subarray(start, start + view.hiddenSize));
  });
  return vectors;
}

/** [rows, pcaSize] */
export function blockFeatures(block: FeatureBlock, table: Table): Float32Array {
  const features = new Float32Array(table.rows * block.pcaSize);
  for (let row = 0; row < table.rows; row++) {
    features.set(transformBlock(block, pooledRow(block, table, row)), row * block.pcaSize);
  }
  return features;
}

/** [rows, outputs] before calibration, of a head with one block. */
export function predictTable(weights: HeadWeights, table: Table): Float64Array {
  const [block] = weights.blocks;
  const outputs = weights.outputNames.length;
  const predicted = new Float64Array(table.rows * outputs);
  for (let row = 0; row < table.rows; row++) {
    predicted.set(probabilities(weights, pooledRow(block!, table, row)), row * outputs);
  }
  return predicted;
}
