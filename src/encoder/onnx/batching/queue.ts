// The texts that wait for a run: those of chats and those in bulk, whose turn it is, and who runs with whom.
import { JudgeError } from "../../../errors.js";
import type { BatchLimits } from "../../encoder.js";
import type { BatchResult } from "../child/batch.js";
import { inTime, isHopeless, isTooMuch, type Outlook, spareMs, type Waiter } from "./admission.js";
import type { Call } from "./call.js";
import { createRunCost } from "./run-cost.js";
import { createTokenGuess } from "./token-guess.js";

/** A text to be encoded. */
export interface Entry {
  readonly call: Call;
  /** among the texts of its call */
  readonly place: number;
  readonly text: string;
  /** texts with the same one can run together */
  readonly group: string;
  /** tokens around the text, and of all at most */
  readonly bounds: { readonly template: number; readonly most: number };
  /** it waits however full the queue is */
  readonly isPatient: boolean;
}

export interface Waiting extends Waiter, Entry {
  readonly bytes: number;
  readonly arrivedMs: number;
  /** its first run ended the process: whether by its own fault shows when it runs without the others */
  readonly isSuspect: boolean;
}

export interface Queue {
  /** @returns null, or why there is no room for it */
  add(entry: Entry): string | null;
  /** Back to the front. */
  putBack(entries: readonly Waiting[]): void;
  /** Removes and returns those for whom there is no time left. */
  shed(): readonly Waiting[];
  /** milliseconds for which the oldest may still wait for company; null when nothing waits */
  restMs(): number | null;
  /**
   * Removes and returns the texts of the next run.
   * @param free processes that could run something now
   */
  take(free: number): readonly Waiting[];
  /** What a run has come to. */
  learn(batch: readonly Waiting[], result: BatchResult): void;
  has(call: Call): boolean;
  leave(call: Call): void;
  calls(): ReadonlySet<Call>;
}

export interface QueueParts {
  readonly limits: BatchLimits;
  readonly clock: () => number;
  /** at least 1 */
  readonly processes: () => number;
}

/** The longest text of a run over its shortest, as guessed; the process sorts by true length. */
const lengthRatio = 2;
/** The part of the encoder's time that texts in bulk get however many chats there are. */
const bulkShare = 0.1;
/** The part of others' tokens that a run of bulk texts may have, since a chat may come meanwhile. */
const bulkBatchPart = 0.25;

export function createQueue({ limits, clock, processes }: QueueParts): Queue {
  const cost = createRunCost();
  const tokens = createTokenGuess();
  let waiting: Waiting[] = [];
  /** encoder time that texts in bulk have a right to, in milliseconds */
  let bulkCredit = 0;

  const outlook = (): Outlook => ({ now: clock(), processes: processes(), cost });
  const isBulk = ({ call }: Waiting) => call.options.isBulk?.() ?? false;
  const sizeOf = (batch: readonly Waiting[]) => batch.reduce((sum, { size }) => sum + size, 0);

  function without(entries: readonly Waiting[]): Waiting[] {
    const gone = new Set(entries);
    return waiting.filter((entry) => !gone.has(entry));
  }

  /** The class whose turn it is: chats, unless texts in bulk have waited long enough for their share. */
  function due(): Waiting[] {
    const [bulk, chats]: [Waiting[], Waiting[]] = [[], []];
    for (const entry of waiting) (isBulk(entry) ? bulk : chats).push(entry);
    const [first] = bulk;
    if (first === undefined) {
      bulkCredit = 0;
      return chats;
    }
    if (chats.length === 0) return bulk;
    return bulkCredit > 0 && bulkCredit >= cost.expected(first.size) ? bulk : chats;
  }

  /** Those that can run with the first, nearest in length first: padding is work for nothing. */
  function companions(first: Waiting, queue: readonly Waiting[]): Waiting[] {
    if (first.isSuspect) return [];
    const distance = ({ size }: Waiting) => Math.abs(size - first.size);
    return queue
      .filter((entry) => {
        const { size, group, isSuspect } = entry;
        const isAlike = size <= lengthRatio * first.size && first.size <= lengthRatio * size;
        return entry !== first && !isSuspect && group === first.group && isAlike;
      })
      .sort((a, b) => distance(a) - distance(b));
  }

  return {
    add(entry) {
      if (!entry.isPatient && waiting.length >= limits.queueLimit)
        return `${limits.queueLimit} texts are waiting already`;
      const bytes = Buffer.byteLength(entry.text);
      const { expiresAt = () => Number.POSITIVE_INFINITY } = entry.call.options;
      const size = tokens.guess(bytes, entry.bounds);
      const added = { ...entry, bytes, size, expiresAt, arrivedMs: clock(), isSuspect: false };
      waiting.push(added);
      if (isBulk(added)) return null;
      const chats = waiting.filter((other) => !isBulk(other));
      if (!isTooMuch(chats, outlook())) return null;
      waiting.pop();
      return "more is asked than the encoder can do in time";
    },
    putBack(entries) {
      waiting.unshift(...entries);
    },
    shed() {
      const now = outlook();
      const hopeless = waiting.filter((entry) => isHopeless(entry, now));
      // as long as somebody else has a use for the time
      if (hopeless.length === waiting.length) hopeless.pop();
      if (hopeless.length > 0) waiting = without(hopeless);
      return hopeless;
    },
    restMs() {
      const [oldest] = waiting;
      if (oldest === undefined) return null;
      return waiting.length < limits.maxBatch ? oldest.arrivedMs + limits.maxWaitMs - clock() : 0;
    },
    take(free) {
      const queue = due();
      const now = outlook();
      const kept = inTime(queue, now, cost.leastPart > 0 ? 1 : 0);
      const first = kept[0] ?? queue[0]!;
      const share = Math.ceil((kept.length || 1) / free);
      const most = Math.min(limits.maxBatch, share);
      const mostTokens = limits.maxBatchTokens * (isBulk(first) ? bulkBatchPart : 1);
      // nobody is late because others join the first
      const longestMs = cost.expected(first.size) + spareMs(kept, now);
      const batch = [first];
      for (const entry of companions(first, kept)) {
        if (batch.length >= most) break;
        const size = sizeOf(batch) + entry.size;
        if (size <= mostTokens && cost.expected(size) <= longestMs) batch.push(entry);
      }
      waiting = without(batch);
      return batch;
    },
    learn(batch, { encodings, milliseconds: { tokenize, prefill } }) {
      const milliseconds = tokenize + prefill;
      let ran = 0;
      for (const [index, { bytes, bounds }] of batch.entries()) {
        const encoding = encodings[index]!;
        if (encoding instanceof JudgeError) continue;
        ran += encoding.tokenCount;
        if (!encoding.truncated) tokens.learn(bytes, encoding.tokenCount - bounds.template);
      }
      if (ran > 0) cost.observe({ guessed: sizeOf(batch), tokens: ran, milliseconds });
      bulkCredit = isBulk(batch[0]!)
        ? Math.max(0, bulkCredit - milliseconds)
        : bulkCredit + bulkShare * milliseconds;
    },
    has: (call) => waiting.some((entry) => entry.call === call),
    leave(call) {
      waiting = waiting.filter((entry) => entry.call !== call);
    },
    calls: () => new Set(waiting.map(({ call }) => call)),
  };
}
