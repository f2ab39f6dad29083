// Which captured row is which hidden state: tries orders and offsets until a selftest comes out.
import { type PooledVectors, pooledKey } from "../features/pooled.js";
import { probabilities, requiredFeatures } from "../head/head.js";
import type { HeadWeights } from "../head/weights.js";

/** How the rows of an encoder are named: row i is hidden state capturedLayers[i] + layerOffset. */
export interface Labelling {
  readonly capturedLayers: readonly number[];
  readonly layerOffset: number;
}

/** A prompt of a selftest. */
export interface LabelledSample {
  /** of every captured row, in each mode the head reads, under the labels that are configured */
  readonly pooled: PooledVectors;
  /** by output name, as the reference gives them */
  readonly probabilities: Readonly<Record<string, number>>;
}

/** One choice of rows for the layers that a head reads. */
export interface Reading {
  /** the simplest ways to configure it, alike for this head */
  readonly labellings: readonly Labelling[];
  /** true for the rows that are read as it is configured now */
  readonly isConfigured: boolean;
  /** largest difference of a probability from the reference */
  readonly difference: number;
}

export interface LabellingFinding {
  /**
   * `fits`: one reading is within the tolerance; `several`: more than one is; `close`: none, but one is far
   * nearer than all others; `neighbours`: none, and rows beside the wanted ones are not captured; `none`:
   * none of all that could be
   */
  readonly kind: "fits" | "several" | "close" | "neighbours" | "none";
  /** the nearest; null where no choice of rows gives the wanted layers */
  readonly best: Reading | null;
  /** the difference of the next; null without one */
  readonly nextDifference: number | null;
  /** ids that a server would have to capture for every wanted layer and its neighbours, ascending */
  readonly capture: readonly number[];
}

const shifts = [0, -1, 1, -2, 2];
/** Of so many rows all orders are tried: 24 at most. */
const maxPermuted = 4;
/** The best reading is clearly the best when all others are so many times further off. */
const clearRatio = 4;
/** No selftest admits more; what is further off is no matter of precision. */
const largestClose = 0.05;

/**
 * Tries other ways to name the rows: offsets up to two away, and other orders of the captured ids.
 * @param samples at least one
 * @param tolerance largest admitted difference of a probability
 */
export function findLabelling(
  head: HeadWeights,
  samples: readonly LabelledSample[],
  configured: Labelling,
  tolerance: number,
): LabellingFinding {
  const wanted = requiredFeatures(head).layers;
  const readings = readingsOf(wanted, configured)
    .map(({ rows, ...reading }) => ({ ...reading, difference: differenceOf(head, samples, rows) }))
    .sort((a, b) => a.difference - b.difference);
  const [best = null, next = null] = readings;
  const fitting = readings.filter(({ difference }) => difference <= tolerance).length;
  const capture = neighbourhood(wanted, configured);
  const isClear =
    best !== null &&
    next !== null &&
    best.difference <= largestClose &&
    best.difference * clearRatio <= next.difference;
  const lacksNeighbours = capture.some((id) => !configured.capturedLayers.includes(id));
  const unfitting = isClear ? "close" : lacksNeighbours ? "neighbours" : "none";
  return {
    kind: fitting > 1 ? "several" : fitting === 1 ? "fits" : unfitting,
    best,
    nextDifference: next?.difference ?? null,
    capture,
  };
}

/** Wanted layer → the configured label of the row that is read for it. */
type Rows = ReadonlyMap<number, number>;

interface Candidate extends Labelling {
  /** how far it is from what is configured; equal ones are equally likely */
  readonly rank: number;
}

/** Every choice of rows that some labelling makes, once, with its simplest labellings. */
function readingsOf(
  wanted: readonly number[],
  configured: Labelling,
): (Pick<Reading, "labellings" | "isConfigured"> & { rows: Rows })[] {
  const found = new Map<string, { rows: Rows; candidates: Candidate[] }>();
  for (const candidate of candidatesOf(configured)) {
    const places = wanted.map((layer) => candidate.capturedLayers.indexOf(layer - candidate.layerOffset));
    if (places.includes(-1)) continue;
    const labels = places.map((place) => configured.capturedLayers[place]! + configured.layerOffset);
    const rows = new Map(wanted.map((layer, index) => [layer, labels[index]!]));
    const entry = found.get(labels.join()) ?? { rows, candidates: [] };
    found.set(labels.join(), entry);
    entry.candidates.push(candidate);
  }
  return [...found.values()].map(({ rows, candidates }) => {
    const lowest = Math.min(...candidates.map(({ rank }) => rank));
    const simplest = candidates.filter(({ rank }) => rank === lowest);
    return {
      rows,
      isConfigured: lowest === 0,
      labellings: simplest.map(({ capturedLayers, layerOffset }) => ({ capturedLayers, layerOffset })),
    };
  });
}

function candidatesOf({ capturedLayers: ids, layerOffset }: Labelling): Candidate[] {
  const offsets = new Set([...shifts.map((shift) => layerOffset + shift), ...shifts]);
  const lowest = Math.min(...ids);
  return ordersOf(ids).flatMap(({ order, isNamed }) => {
    const isGiven = order === ids;
    return [...offsets]
      .filter((offset) => lowest + offset >= 0)
      .map((offset) => {
        const isShifted = offset !== layerOffset;
        const changes = Number(!isGiven) + Number(isShifted);
        return { capturedLayers: order, layerOffset: offset, rank: changes + (isNamed ? 0 : 2) };
      });
  });
}

/** The ids as given, in the orders that servers are known for and, when they are few, in every other. */
function ordersOf(ids: readonly number[]): { order: readonly number[]; isNamed: boolean }[] {
  const ascending = ids.toSorted((a, b) => a - b);
  const named = [ids, ids.toReversed(), ascending, ascending.toReversed()];
  const others = ids.length <= maxPermuted ? permutations(ids) : [];
  const orders = [
    ...named.map((order) => ({ order, isNamed: true })),
    ...others.map((order) => ({ order, isNamed: false })),
  ];
  const seen = new Set<string>();
  return orders.filter(({ order }) => !seen.has(order.join()) && seen.add(order.join()));
}

function permutations(ids: readonly number[]): number[][] {
  if (ids.length <= 1) return [[...ids]];
  return ids.flatMap((id, place) => permutations(ids.toSpliced(place, 1)).map((rest) => [id, ...rest]));
}

/** Infinite where a probability is not finite, or the reference has none. */
function differenceOf(head: HeadWeights, samples: readonly LabelledSample[], rows: Rows): number {
  const { pooling } = requiredFeatures(head);
  const differences = samples.flatMap((sample) => {
    const renamed = new Map(
      [...rows].flatMap(([layer, label]) =>
        pooling.map((mode) => [pooledKey(layer, mode), sample.pooled.get(pooledKey(label, mode))!] as const),
      ),
    );
    const computed = probabilities(head, renamed);
    return head.outputNames.map((name, output) =>
      Math.abs(computed[output]! - (sample.probabilities[name] ?? Number.NaN)),
    );
  });
  return differences.some(Number.isNaN) ? Number.POSITIVE_INFINITY : Math.max(...differences);
}

function neighbourhood(wanted: readonly number[], { layerOffset }: Labelling): number[] {
  const ids = wanted.flatMap((layer) => [layer - 1, layer, layer + 1].map((near) => near - layerOffset));
  return [...new Set(ids)].filter((id) => id >= 0 && id + layerOffset >= 0).sort((a, b) => a - b);
}
