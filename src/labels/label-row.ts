// One prompt of a label file with its labels.

/** One prompt with what is known of every output. */
export interface LabelRow {
  /** as in the file, else `row-N` after the first record */
  readonly id: string;
  /** the judged text */
  readonly text: string;
  readonly split: string | null;
  readonly group: string | null;
  /** how the labels came about, e.g. measured or distilled */
  readonly source: string | null;
  /** above 0; 1 where the file gives none */
  readonly weight: number;
  /** in the order of `outputNames`: share of the answers that solve it, 0…1; null: not known, to be masked */
  readonly labels: readonly (number | null)[];
  /** in the same order: answers that the share is of; 0 where it is not known */
  readonly samples: readonly number[];
  /** how often the file has this prompt (for one output) */
  readonly copies: number;
}

/** The row's weight for each answer: a prompt with three answers counts as three rows. */
export function labelWeight(
  { weight, samples }: Pick<LabelRow, "weight" | "samples">,
  output: number,
): number {
  return weight * samples[output]!;
}
