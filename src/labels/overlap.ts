// Rows that a judge was trained on must not be in its test.
import { JudgeError } from "../errors.js";
import { quoted } from "./label-record.js";
import type { LabelRow } from "./label-row.js";
import { normaliseText } from "./normalise.js";

type Prompt = Pick<LabelRow, "id" | "text">;

export interface Overlap {
  readonly id: string;
  readonly trainId: string;
}

/** Rows whose text equals a training row's after normalisation, in order. */
export function findOverlap(trainRows: readonly Prompt[], rows: readonly Prompt[]): Overlap[] {
  const trained = new Map(trainRows.map(({ id, text }) => [normaliseText(text), id]));
  return rows.flatMap(({ id, text }) => {
    const trainId = trained.get(normaliseText(text));
    return trainId === undefined ? [] : [{ id, trainId }];
  });
}

const listed = 50;
const longestId = 200;

/** @throws JudgeError `usage` that lists the rows which are in both */
export function refuseOverlap(trainRows: readonly Prompt[], rows: readonly Prompt[]): void {
  const overlap = findOverlap(trainRows, rows);
  if (overlap.length === 0) return;
  const ids = overlap.slice(0, listed).map(({ id, trainId }) => {
    const name = quoted(id, longestId);
    return id === trainId ? name : `${name} (${quoted(trainId, longestId)} in training)`;
  });
  const more = overlap.length > listed ? ` and ${overlap.length - listed} more` : "";
  throw new JudgeError("usage", {
    found:
      `${overlap.length} of ${rows.length} rows to measure on are rows of the training: ${ids.join(", ")}${more}; ` +
      `name a split that was not trained on, or leave these ${overlap.length} out with --drop-overlap`,
  });
}

/** The rows that are not in the training, in order. */
export function withoutOverlap<Row extends Prompt>(
  trainRows: readonly Prompt[],
  rows: readonly Row[],
): Row[] {
  const overlapping = new Set(findOverlap(trainRows, rows).map(({ id }) => id));
  return rows.filter(({ id }) => !overlapping.has(id));
}
