// Records of one prompt → one row with the mean of their answers. All else of the row is the first record's.
// A prompt in two splits stays two rows.
import { type LabelEntry, type LabelRecord, quoted, refusedAt } from "./label-record.js";
import type { LabelRow } from "./label-row.js";
import { normaliseText } from "./normalise.js";

export interface MergedLabels {
  readonly outputNames: readonly string[];
  readonly rows: readonly LabelRow[];
  /** by output; null where no record has any */
  readonly medianOutputTokens: readonly (number | null)[];
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
  readonly verdicts: Map<string, Verdict>;
}

/** Everything that grows record by record. */
interface Collection {
  readonly drafts: Map<string, Draft>;
  readonly byId: Map<string, Draft>;
  /** output tokens by output */
  readonly outputs: Map<string, number[]>;
}

/** @throws JudgeError `usage` for an id that two different prompts bear, and whatever `records` throws */
export function mergeRecords(records: Iterable<LabelRecord>): MergedLabels {
  const collection: Collection = { drafts: new Map(), byId: new Map(), outputs: new Map() };
  for (const record of records) collect(collection, record);
  const drafts = [...collection.drafts.values()];
  const outputNames = [...collection.outputs.keys()];
  return {
    outputNames,
    rows: drafts.map((draft) => toRow(draft, outputNames)),
    medianOutputTokens: outputNames.map((output) => median(collection.outputs.get(output)!)),
  };
}

function collect(collection: Collection, record: LabelRecord): void {
  const { drafts, byId } = collection;
  const key = JSON.stringify([record.split, normaliseText(record.text)]);
  const id = record.id ?? `row-${record.row}`;
  let draft = drafts.get(key);
  if (draft === undefined) {
    draft = { id, first: record, verdicts: new Map() };
    drafts.set(key, draft);
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

function addRecord({ verdicts }: Draft, record: LabelRecord, outputs: Map<string, number[]>): void {
  for (const entry of record.entries) {
    const { output, outputTokens } = entry;
    if (!outputs.has(output)) outputs.set(output, []);
    if (outputTokens !== null) outputs.get(output)!.push(outputTokens);
    addEntry(verdicts, entry);
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

function median(values: number[]): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
