// Figures of scikit-learn for the tests of evaluation. test/fixtures/train/make.py writes them.
import type { LabelRow } from "../../../src/labels/label-row.js";
import { fixturePath, readJson } from "../fixtures.js";

export interface ReferenceSample {
  readonly p: readonly number[];
  readonly solved: readonly number[];
  readonly weight: readonly number[];
  readonly auc: number;
  readonly brier: number;
  readonly logLoss: number;
  readonly ece: number;
}

interface Reference {
  readonly samples: Readonly<Record<string, ReferenceSample>>;
  readonly logistic: {
    readonly features: readonly (readonly number[])[];
    readonly solved: readonly number[];
    readonly models: readonly {
      readonly inversePenalty: number;
      readonly sampleWeight: readonly number[] | null;
      readonly weight: readonly number[];
      readonly intercept: number;
      readonly p: readonly number[];
    }[];
  };
  readonly tfidf: {
    readonly texts: readonly string[];
    readonly unseen: readonly string[];
    readonly inverseFrequency: Readonly<Record<string, number>>;
    readonly fitted: readonly Readonly<Record<string, number>>[];
    readonly applied: readonly Readonly<Record<string, number>>[];
  };
  readonly quantiles: {
    readonly values: readonly number[];
    readonly shares: readonly number[];
    readonly wanted: readonly number[];
  };
}

export function reference(): Reference {
  return readJson<Reference>(fixturePath("train/scikit-learn.json"));
}

type GivenRow = Partial<Omit<LabelRow, "labels">> & {
  readonly id: string;
  readonly labels?: readonly (boolean | number | null)[];
};

/** A row with one labelled output and, by default, one answer for every label. */
export function labelRow({ labels = [true], ...row }: GivenRow): LabelRow {
  return {
    text: `prompt of ${row.id}`,
    split: null,
    group: null,
    source: null,
    weight: 1,
    labels: labels.map((label) => (label === null ? null : Number(label))),
    samples: labels.map((label) => (label === null ? 0 : 1)),
    copies: 1,
    ...row,
  };
}

/** Fails and names both numbers unless they are closer than the tolerance. */
export function assertClose(found: number | null | undefined, wanted: number, tolerance = 1e-12): void {
  if (found == null || !(Math.abs(found - wanted) <= tolerance)) {
    throw new Error(`found ${found}, wanted ${wanted} ± ${tolerance}`);
  }
}
