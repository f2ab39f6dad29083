// Metrics that are means over the rows, as evaluation computes them from its rows' losses.
import { hits, logLosses, type Sample, squaredLosses, weightedMean } from "../../../src/evaluate/metrics.js";

export function brier(sample: Sample, weight: Float64Array): number | null {
  return weightedMean(weight, squaredLosses(sample));
}

export function logLoss(sample: Sample, weight: Float64Array): number | null {
  return weightedMean(weight, logLosses(sample));
}

export function accuracy(sample: Sample, weight: Float64Array, threshold: number): number | null {
  return weightedMean(weight, hits(sample, threshold));
}
