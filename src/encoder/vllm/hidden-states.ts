// The content of a hidden-state file, checked against what was sent, → pooled vectors.
import { bytesPerValue, type Entry, readHeader } from "../../checkpoint/safetensors-header.js";
import { JudgeError } from "../../errors.js";
import type { PooledVectors, WantedFeatures } from "../../features/pooled.js";
import type { WholeFile } from "./hidden-state-file.js";
import { connectorRemedy } from "./hidden-state-path.js";
import { createLimiter } from "./limiter.js";
import { ownTensors } from "./own-files.js";
import { createRowPooling, fault, type RowPooling, type RowShape, type StateDtype } from "./row-pooling.js";
import type { WorkSlices } from "./work-slices.js";

export interface Expected {
  /** the token ids that were sent */
  readonly ids: readonly number[];
  /** hidden-state indices in the order of the file's second axis */
  readonly captured: readonly number[];
  /** null: not known yet */
  readonly hiddenSize: number | null;
}

export interface HiddenStates {
  readonly hiddenSize: number;
  /** of the values in the file */
  readonly dtype: StateDtype;
  readonly pooled: PooledVectors;
}

export interface HiddenStateReader {
  /** @throws JudgeError `encoder_error` for values that no model gives; `signal.reason` when aborted */
  read(
    file: WholeFile,
    expected: Expected,
    wanted: WantedFeatures,
    signal: AbortSignal,
  ): Promise<HiddenStates>;
}

/** Larger than any model's; bounds what is read before the size is known. */
const largestHiddenSize = 65_536;
/** Read and pooled in one piece, or one row where that is longer: a millisecond of work. */
const pieceBytes = 1 << 20;
/** As many as Node has threads for files. */
const filesAtOnce = 4;

/** The most bytes that a file of so many tokens and layers can have. */
export function largestFile({ ids, captured, hiddenSize }: Expected): number {
  const perToken = 8 + captured.length * (hiddenSize ?? largestHiddenSize) * bytesPerValue.F32;
  return (1 << 16) + ids.length * perToken;
}

/** @param slices where the pooling of each piece waits for its turn */
export function createHiddenStateReader(slices: WorkSlices): HiddenStateReader {
  const limiter = createLimiter(filesAtOnce, Number.POSITIVE_INFINITY);
  /** kept, since new ones would keep the garbage collector busy; two for each file that is read */
  const spare: Uint8Array[] = [];

  async function poolRows(
    file: WholeFile,
    dataStart: number,
    shape: RowShape,
    rows: RowPooling,
    signal: AbortSignal,
  ): Promise<void> {
    const rowBytes = shape.captured.length * shape.hiddenSize * bytesPerValue[shape.dtype];
    const rowsAtOnce = Math.max(1, Math.floor(pieceBytes / rowBytes));
    const size = Math.max(pieceBytes, rowBytes);
    const pieces = [0, 1].map(() => (size === pieceBytes ? spare.pop() : undefined) ?? new Uint8Array(size));
    const fetch = (first: number, piece: Uint8Array) => {
      const bytes = piece.subarray(0, Math.min(rowsAtOnce, shape.tokens - first) * rowBytes);
      const reading = file.read(bytes, dataStart + first * rowBytes).then(() => bytes);
      // it may fail while the piece before it waits for its turn, and nobody awaits it yet
      reading.catch(() => {});
      return reading;
    };
    let [now, next] = pieces as [Uint8Array, Uint8Array];
    let coming = fetch(0, now);
    try {
      for (let first = rowsAtOnce; ; first += rowsAtOnce) {
        const bytes = await coming;
        signal.throwIfAborted();
        const isLast = first >= shape.tokens;
        if (!isLast) coming = fetch(first, next);
        await slices.take(() => rows.add(bytes));
        if (isLast) return;
        [now, next] = [next, now];
      }
    } finally {
      await coming.catch(() => {});
      if (size === pieceBytes) spare.push(...pieces);
    }
  }

  return {
    async read(file, expected, wanted, signal) {
      return await limiter.run(async () => {
        const { states, tokenIds, dataStart } = findTensors(file);
        await checkIds(file, dataStart + tokenIds.begin, tokenIds, expected.ids);
        const shape = checkShape(states, expected);
        const rows = createRowPooling(shape, wanted);
        await poolRows(file, dataStart + states.begin, shape, rows, signal);
        return { hiddenSize: shape.hiddenSize, dtype: shape.dtype, pooled: rows.pooled() };
      }, signal);
    },
  };
}

function findTensors({ start, size }: WholeFile) {
  try {
    const { entries, end } = readHeader(start, size);
    const [states, tokenIds] = ownTensors.map((wanted) => entries.find(({ name }) => name === wanted));
    if (states === undefined || tokenIds === undefined) {
      throw fault({ found: "without hidden_states or token_ids", remedy: connectorRemedy });
    }
    if (tokenIds.dtype !== "I64")
      throw fault({ found: `with token_ids of dtype ${tokenIds.dtype}`, wanted: "I64" });
    return { states, tokenIds, dataStart: end };
  } catch (error) {
    if (error instanceof JudgeError && error.code === "encoder_error") throw error;
    throw fault({ found: "not as the safetensors format demands", remedy: connectorRemedy }, error);
  }
}

async function checkIds(
  file: WholeFile,
  position: number,
  { begin, end }: Entry,
  ids: readonly number[],
): Promise<void> {
  const count = (end - begin) / bytesPerValue.I64;
  const found = new BigInt64Array(count === ids.length ? count : 0);
  await file.read(new Uint8Array(found.buffer), position);
  if (count !== ids.length || ids.some((id, index) => found[index] !== BigInt(id))) {
    throw fault({ found: `of other token ids than were sent: ${count}`, wanted: String(ids.length) });
  }
}

function checkShape({ dtype, shape }: Entry, { ids, captured, ...expected }: Expected): RowShape {
  if (!isStateDtype(dtype)) throw fault({ found: `of dtype ${dtype}`, wanted: "BF16, F16 or F32" });
  const [tokens, layers, hiddenSize] = shape as [number, number, number];
  if (shape.length !== 3 || hiddenSize === 0) throw fault({ found: "not of shape [tokens, layers, hidden]" });
  if (tokens !== ids.length) throw fault({ found: `of ${tokens} tokens`, wanted: String(ids.length) });
  if (layers !== captured.length) {
    throw fault({
      found: `of ${layers} layers, captured_layers names ${captured.length}`,
      remedy: "set it to the server's eagle_aux_hidden_state_layer_ids",
    });
  }
  if (expected.hiddenSize !== null && hiddenSize !== expected.hiddenSize) {
    throw fault({
      found: `of hidden size ${hiddenSize}, at the start it was ${expected.hiddenSize}`,
      remedy: "the server serves another model now: set both to one, and start anew",
    });
  }
  return { dtype, tokens, captured, hiddenSize };
}

function isStateDtype(dtype: Entry["dtype"]): dtype is StateDtype {
  return dtype === "BF16" || dtype === "F16" || dtype === "F32";
}
