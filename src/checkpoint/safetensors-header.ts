// Reads and checks the header of a safetensors file: what each tensor is and where its bytes lie.
import { HeaderCursor } from "./header-cursor.js";
import { safetensorsRefusal } from "./safetensors-refusal.js";
import { show } from "./show.js";

/** Bytes per value. Python's writer orders the tensors as these dtypes are, and by name within a dtype. */
export const bytesPerValue = { I64: 8, F64: 8, F32: 4, BF16: 2, F16: 2 } as const;
export type Dtype = keyof typeof bytesPerValue;
export const dtypes = Object.keys(bytesPerValue);
export const metadataKey = "__metadata__";
const maxHeaderBytes = 100_000_000;

/** One tensor as the header describes it. */
export interface Entry {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** offsets into the bytes behind the header */
  readonly begin: number;
  readonly end: number;
}

export interface Header {
  readonly entries: readonly Entry[];
  /** without a prototype */
  readonly metadata: Readonly<Record<string, string>>;
  /** offset of the first byte behind the header */
  readonly end: number;
}

/**
 * @param bytes the file, or as much of it as holds the header
 * @throws JudgeError `checkpoint` for a header, or a layout of the bytes behind it, that the format forbids
 */
export function readHeader(bytes: Uint8Array, fileSize = bytes.byteLength): Header {
  const header = readEntries(bytes);
  checkLayout(header.entries, fileSize - header.end);
  return header;
}

/**
 * Reads the header when only the start of the file is at hand. What it says of later bytes is not checked.
 * @param start the file's first bytes; the bytes behind the header do not matter
 * @returns null while the header itself is incomplete
 * @throws JudgeError `checkpoint` for a header that the format forbids, or that is longer than
 *   `maxHeaderBytes`
 */
export function readStart(start: Uint8Array, maxHeaderBytes: number): Header | null {
  if (start.byteLength < 8) return null;
  const size = new DataView(start.buffer, start.byteOffset).getBigUint64(0, true);
  if (size > maxHeaderBytes) {
    throw safetensorsRefusal(`found a header length of ${size}`, `at most ${maxHeaderBytes}`);
  }
  return start.byteLength < 8 + Number(size) ? null : readEntries(start);
}

/** The size that the header gives the whole file, while that is still being written; as `readStart`. */
export function declaredSize(start: Uint8Array, maxHeaderBytes: number): number | null {
  const header = readStart(start, maxHeaderBytes);
  return header && header.end + Math.max(0, ...header.entries.map((entry) => entry.end));
}

function readEntries(bytes: Uint8Array): Header {
  const { text, end } = readHeaderText(bytes);
  const cursor = new HeaderCursor(text);
  const metadata: Record<string, string> = Object.create(null);
  const entries: Entry[] = [];
  cursor.readObject("header", (key) => {
    if (key !== metadataKey) entries.push(readEntry(cursor, key));
    else
      cursor.readObject(metadataKey, (name) => {
        metadata[name] = cursor.readString(metadataKey);
      });
  });
  cursor.expectEnd();
  return { entries, metadata, end };
}

/** Bytes of a tensor; null for a shape that is invalid, or too large for an exact number. */
export function byteLengthOf(dtype: Dtype, shape: readonly number[]): number | null {
  let length: number = bytesPerValue[dtype];
  for (const size of shape) {
    length *= size;
    if (!Number.isSafeInteger(size) || size < 0 || !Number.isSafeInteger(length)) return null;
  }
  return length;
}

/** The header as text, and the offset of the byte behind it. */
function readHeaderText(bytes: Uint8Array): { text: string; end: number } {
  if (bytes.byteLength < 8)
    throw safetensorsRefusal(`found a file of ${bytes.byteLength} bytes`, "at least 8");
  const size = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  if (size > maxHeaderBytes) {
    throw safetensorsRefusal(`found a header length of ${size}`, `at most ${maxHeaderBytes}`);
  }
  const end = 8 + Number(size);
  if (end > bytes.byteLength) {
    throw safetensorsRefusal(
      `found a header length of ${size}`,
      `at most the ${bytes.byteLength - 8} bytes left`,
    );
  }
  if (size === 0n || bytes[8] !== 0x7b)
    throw safetensorsRefusal("found a header without its first {", "an object");
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, end));
    return { text, end };
  } catch (cause) {
    throw safetensorsRefusal("found a header that is not UTF-8", "UTF-8", cause);
  }
}

/** Reads `{"dtype": …, "shape": …, "data_offsets": …}` and checks what concerns this tensor alone. */
function readEntry(cursor: HeaderCursor, name: string): Entry {
  const place = `tensor ${show(name)}`;
  const found: { dtype?: string; shape?: number[]; offsets?: number[] } = {};
  cursor.readObject(place, (key) => {
    if (key === "dtype") found.dtype = cursor.readString(place);
    else if (key === "shape") found.shape = cursor.readIntegers(`${place} shape`);
    else if (key === "data_offsets") found.offsets = cursor.readIntegers(`${place} data_offsets`);
    else
      throw safetensorsRefusal(`${place} has the unknown key ${show(key)}`, "dtype, shape and data_offsets");
  });
  const { dtype, shape, offsets } = found;
  if (dtype === undefined || shape === undefined || offsets === undefined) {
    throw safetensorsRefusal(`${place} lacks a key`, "dtype, shape and data_offsets");
  }
  if (!isDtype(dtype))
    throw safetensorsRefusal(`${place} has dtype ${show(dtype)}`, `one of ${dtypes.join(", ")}`);
  const [begin, end] = offsets;
  if (begin === undefined || end === undefined || offsets.length !== 2) {
    throw safetensorsRefusal(`${place} has ${offsets.length} data_offsets`, "2");
  }
  const wanted = byteLengthOf(dtype, shape);
  if (wanted === null) {
    throw safetensorsRefusal(`${place} has shape ${show(`[${shape}]`)}`, "one of less than 2^53 bytes");
  }
  if (end - begin !== wanted) {
    throw safetensorsRefusal(`${place} has data_offsets ${begin} to ${end}`, `${wanted} bytes for its shape`);
  }
  return { name, dtype, shape, begin, end };
}

/** Demands that the tensors fill the file one after the other: no byte is shared, none is hidden. */
function checkLayout(entries: readonly Entry[], dataSize: number): void {
  let offset = 0;
  for (const { name, begin, end } of entries.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== offset) {
      const fault = begin < offset ? "an overlap" : "a hole";
      throw safetensorsRefusal(`tensor ${show(name)} begins at byte ${begin}`, `${offset}: ${fault}`);
    }
    if (end > dataSize) {
      throw safetensorsRefusal(
        `tensor ${show(name)} ends at byte ${end}`,
        `at most ${dataSize}, the file's end`,
      );
    }
    offset = end;
  }
  if (offset !== dataSize) throw safetensorsRefusal(`found ${dataSize - offset} trailing bytes`, "none");
}

function isDtype(dtype: string): dtype is Dtype {
  return Object.hasOwn(bytesPerValue, dtype);
}
