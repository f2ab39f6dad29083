// Records of one prompt → one row with the mean of their answers. A prompt in two splits stays two rows.
import { type LabelEntry, type LabelRecord, quoted, refusedAt } from "./label-record.js";
import type { LabelRow } from "./label-row.js";
import { normaliseText } from "./normalise.js";

export interface MergeReport {
  readonly records: number;
  /** records beyond a prompt's first for the same output */
  readonly duplicates: number;
  /** ids that went into another row */
  readonly merged: readonly { readonly id: string; readonly into: string }[];
  readonly conflicts: readonly LabelConflict[];
  /** rows of one prompt in several splits */
  readonly acrossSplits: readonly {
    readonly ids: readonly string[];
    readonly splits: readonly (string | null)[];
  }[];
}

/** Duplicates that disagree on more than a label; the first stays. */
export interface LabelConflict {
  readonly id: string;
  readonly kind: "group" | "source" | "weight";
  /** the prompt's records from the first that disagrees on, counted from 1 */
  readonly rows: number[];
}

export interface MergedLabels {
  readonly outputNames: readonly string[];
  readonly rows: readonly LabelRow[];
  readonly medianOutputTokens: readonly (number | null)[];
  readonly report: MergeReport;
}

/** One output of a prompt while records come in. */
interface Verdict {
  solved: number | null;
  samples: number;
  records: number;
}

interface Draft {
  readonly id: string;
  readonly first: LabelRecord;
  readonly normalised: string;
  readonly verdicts: Map<string, Verdict>;
  readonly conflicts: Map<LabelConflict["kind"], LabelConflict>;
}

/** Everything that grows record by record. */
interface Collection {
  readonly drafts: Map<string, Draft>;
  readonly byId: Map<string, Draft>;
  /** output tokens by output */
  readonly outputs: Map<string, number[]>;
  readonly merged: { id: string; into: string }[];
  records: number;
}

/** @throws JudgeError `usage` for an id that two different prompts bear, and whatever `records` throws */
export function mergeRecords(records: Iterable<LabelRecord>): MergedLabels {
  const collection: Collection = {
    drafts: new Map(),
    byId: new Map(),
    outputs: new Map(),
    merged: [],
    records: 0,
  };
  for (const record of records) collect(collection, record);
  const drafts = [...collection.drafts.values()];
  const outputNames = [...collection.outputs.keys()];
  const verdicts = drafts.flatMap((draft) => [...draft.verdicts.values()]);
  return {
    outputNames,
    rows: drafts.map((draft) => toRow(draft, outputNames)),
    medianOutputTokens: outputNames.map((output) => median(collection.outputs.get(output)!)),
    report: {
      records: collection.records,
      duplicates: verdicts.reduce((sum, verdict) => sum + verdict.records - 1, 0),
      merged: collection.merged,
      conflicts: drafts.flatMap(({ conflicts }) => [...conflicts.values()]),
      acrossSplits: findAcrossSplits(drafts),
    },
  };
}

function collect(collection: Collection, record: LabelRecord): void {
  const { drafts, byId, merged } = collection;
  collection.records++;
  const normalised = normaliseText(record.text);
  const key = JSON.stringify([record.split, normalised]);
  const id = record.id ?? `row-${record.row}`;
  let draft = drafts.get(key);
  if (draft === undefined) {
    draft = { id, first: record, normalised, verdicts: new Map(), conflicts: new Map() };
    drafts.set(key, draft);
  } else if (record.id !== null && id !== draft.id && !byId.has(id)) {
    merged.push({ id, into: draft.id });
  }
  if (record.id !== null || draft.first === record) claimId(byId, id, draft, record);
  addRecord(draft, record, collection.outputs);
}

function claimId(byId: Map<string, Draft>, id: string, draft: Draft, record: LabelRecord): void {
  const owner = byId.get(id);
  if (owner !== undefined && owner !== draft) {
    const finding = `found ${quoted(id)} again, which row ${owner.first.row} has for another prompt or split`;
    throw refusedAt(record, "id", { found: finding, remedy: "give every prompt an id of its own" });
  }
  byId.set(id, draft);
}

function addRecord(draft: Draft, record: LabelRecord, outputs: Map<string, number[]>): void {
  const { first, verdicts } = draft;
  for (const entry of record.entries) {
    const { output, outputTokens } = entry;
    if (!outputs.has(output)) outputs.set(output, []);
    if (outputTokens !== null) outputs.get(output)!.push(outputTokens);
    addEntry(verdicts, entry);
  }
  for (const kind of ["group", "source", "weight"] as const) {
    if (record[kind] !== first[kind]) addConflict(draft, record.row, kind);
  }
}

/** The mean of what was known and what comes, each by its number of answers. */
function addEntry(verdicts: Map<string, Verdict>, { output, solved, samples }: LabelEntry): void {
  let verdict = verdicts.get(output);
  if (verdict === undefined) {
    verdict = { solved: null, samples: 0, records: 0 };
    verdicts.set(output, verdict);
  }
  verdict.records++;
  if (solved === null) return;
  const total = verdict.samples + samples;
  const before = verdict.solved ?? 0;
  verdict.solved = verdict.samples === 0 ? solved : (before * verdict.samples + solved * samples) / total;
  verdict.samples = total;
}

function addConflict(draft: Draft, row: number, kind: LabelConflict["kind"]): void {
  const known = draft.conflicts.get(kind);
  if (known !== undefined) known.rows.push(row);
  else draft.conflicts.set(kind, { id: draft.id, kind, rows: [row] });
}

function toRow({ id, first, verdicts }: Draft, outputNames: readonly string[]): LabelRow {
  const { text, split, group, source, weight } = first;
  return {
    id,
    text,
    split,
    group,
    source,
    weight,
    labels: outputNames.map((output) => verdicts.get(output)?.solved ?? null),
    samples: outputNames.map((output) => verdicts.get(output)?.samples ?? 0),
    copies: Math.max(...[...verdicts.values()].map(({ records }) => records)),
  };
}

function findAcrossSplits(drafts: readonly Draft[]): MergeReport["acrossSplits"] {
  const byText = new Map<string, Draft[]>();
  for (const draft of drafts) {
    const group = byText.get(draft.normalised);
    if (group === undefined) byText.set(draft.normalised, [draft]);
    else group.push(draft);
  }
  return [...byText.values()]
    .filter((group) => group.length > 1)
    .map((group) => ({
      ids: group.map(({ id }) => id),
      splits: group.map(({ first }) => first.split),
    }));
}

function median(values: number[]): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
