// Reads and writes the safetensors format: 8-byte header length, JSON header, tensor bytes. The reader trusts no byte
// of the file and builds nothing larger than it; it does not touch the disk and does not know what a tensor is for.
// Format: https://github.com/huggingface/safetensors; the referee for both directions is Python's safetensors 0.8.
import { JudgeError } from "../errors.js";

/** Bytes per value. Python's writer puts the tensors' bytes in this order of dtypes, then by name. */
const BYTES_PER_VALUE = { I64: 8, F64: 8, F32: 4, BF16: 2, F16: 2 } as const;
const DTYPES = Object.keys(BYTES_PER_VALUE);
const MAX_HEADER_BYTES = 100_000_000;
const WHITE_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const METADATA_KEY = "__metadata__";

export interface Tensor {
  readonly dtype: keyof typeof BYTES_PER_VALUE;
  /** [] is one value */
  readonly shape: readonly number[];
  /** little-endian, row-major, at any alignment; a view of the file where the tensor was read from one */
  readonly data: Uint8Array;
}

export interface SafetensorsFile {
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** the header's `__metadata__`, without a prototype; empty where the file has none */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Reads a whole safetensors file; the tensors are views of `bytes`, nothing is copied.
 *
 * @throws JudgeError `checkpoint` for every file that is not exactly as the format demands: stricter than Python's
 *   reader in that no key may occur twice, be unknown or be `__proto__`
 */
export function parseSafetensors(bytes: Uint8Array): SafetensorsFile {
  const header = readHeaderText(bytes);
  const cursor = new HeaderCursor(header.text);
  const metadata: Record<string, string> = Object.create(null);
  const entries: Entry[] = [];
  cursor.readObject("header", (key) => {
    if (key !== METADATA_KEY) entries.push(readEntry(cursor, key));
    else cursor.readObject(METADATA_KEY, (name) => (metadata[name] = cursor.readString(METADATA_KEY)));
  });
  cursor.expectEnd();
  checkLayout(entries, bytes.byteLength - header.end);
  const tensors = new Map<string, Tensor>();
  for (const { name, dtype, shape, begin, end } of entries) {
    // not bytes.subarray: of a Buffer that is another Buffer, whose slice() does not copy
    const data = new Uint8Array(bytes.buffer, bytes.byteOffset + header.end + begin, end - begin);
    tensors.set(name, { dtype, shape, data });
  }
  return { tensors, metadata };
}

/**
 * The tensor's values as float32, row-major; F64 is rounded, beyond float32's range to ±Infinity.
 *
 * @throws JudgeError `checkpoint` for an I64 tensor
 */
export function toFloat32({ dtype, data }: Tensor): Float32Array {
  if (dtype === "I64") throw refusal("found a tensor of dtype I64, wanted F32, F16, BF16 or F64");
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const values = new Float32Array(data.byteLength / BYTES_PER_VALUE[dtype]);
  // F32 and BF16 go in as bits, so that a NaN stays the NaN it was
  const bits = new Uint32Array(values.buffer);
  for (let i = 0; i < values.length; i++) {
    if (dtype === "F32") bits[i] = view.getUint32(4 * i, true);
    else if (dtype === "BF16") bits[i] = view.getUint16(2 * i, true) << 16;
    else if (dtype === "F16") values[i] = halfToNumber(view.getUint16(2 * i, true));
    else values[i] = view.getFloat64(8 * i, true);
  }
  return values;
}

/**
 * The tensor's values as int64, row-major.
 *
 * @throws JudgeError `checkpoint` for a tensor that is not I64
 */
export function toInt64({ dtype, data }: Tensor): BigInt64Array {
  if (dtype !== "I64") throw refusal(`found a tensor of dtype ${dtype}, wanted I64`);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return new BigInt64Array(data.byteLength / 8).map((_, i) => view.getBigInt64(8 * i, true));
}

/**
 * An F32 tensor with a copy of `values`, row-major in `shape`.
 *
 * @throws JudgeError `checkpoint` where the shape does not hold that many values
 */
export function fromFloat32(values: Float32Array, shape: readonly number[]): Tensor {
  if (byteLengthOf("F32", shape) !== values.byteLength) {
    throw refusal(`found ${values.length} values, wanted as many as shape ${show(`[${shape}]`)} holds`);
  }
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const view = new DataView(new ArrayBuffer(values.byteLength));
  for (let i = 0; i < bits.length; i++) view.setUint32(4 * i, bits[i]!, true);
  return { dtype: "F32", shape: [...shape], data: new Uint8Array(view.buffer) };
}

/**
 * The bytes of a safetensors file: the same for the same content, whatever the order of `tensors` and `metadata`, and
 * the same as Python's writer makes (which leaves the order of metadata to chance). Empty metadata is not written.
 *
 * @throws JudgeError `checkpoint` for what parseSafetensors would not read back
 */
export function serializeSafetensors(
  tensors: Iterable<readonly [name: string, tensor: Tensor]>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array {
  const sorted = [...tensors].sort(
    ([nameA, a], [nameB, b]) =>
      DTYPES.indexOf(a.dtype) - DTYPES.indexOf(b.dtype) || compareUtf8(nameA, nameB),
  );
  // members joined by hand: an object would let a repeated name vanish, the reader below refuses it
  const member = (key: string, value: unknown) => `${JSON.stringify(key)}:${JSON.stringify(value)}`;
  const names = Object.keys(metadata).sort(compareUtf8);
  const members =
    names.length === 0 ? [] : [`"${METADATA_KEY}":{${names.map((name) => member(name, metadata[name]))}}`];
  let dataSize = 0;
  for (const [name, { dtype, shape, data }] of sorted) {
    const begin = dataSize;
    dataSize += data.byteLength;
    members.push(member(name, { dtype, shape, data_offsets: [begin, dataSize] }));
  }
  const text = new TextEncoder().encode(`{${members}}`);
  const headerSize = Math.ceil(text.byteLength / 8) * 8;
  const bytes = new Uint8Array(8 + headerSize + dataSize).fill(0x20, 8, 8 + headerSize);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(headerSize), true);
  bytes.set(text, 8);
  let offset = 8 + headerSize;
  for (const [, { data }] of sorted) {
    bytes.set(data, offset);
    offset += data.byteLength;
  }
  parseSafetensors(bytes);
  return bytes;
}

interface Entry {
  readonly name: string;
  readonly dtype: Tensor["dtype"];
  readonly shape: readonly number[];
  /** offsets into the bytes behind the header */
  readonly begin: number;
  readonly end: number;
}

/** The header as text, and the offset of the byte behind it. */
function readHeaderText(bytes: Uint8Array): { text: string; end: number } {
  if (bytes.byteLength < 8) throw refusal(`found a file of ${bytes.byteLength} bytes, wanted at least 8`);
  const size = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  if (size > MAX_HEADER_BYTES) {
    throw refusal(`found a header length of ${size}, wanted at most ${MAX_HEADER_BYTES}`);
  }
  const end = 8 + Number(size);
  if (end > bytes.byteLength) {
    throw refusal(`found a header length of ${size}, wanted at most the ${bytes.byteLength - 8} bytes left`);
  }
  if (size === 0n || bytes[8] !== 0x7b) throw refusal("found a header without its first {, wanted an object");
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, end));
    return { text, end };
  } catch (cause) {
    throw refusal("found a header that is not UTF-8, wanted UTF-8", cause);
  }
}

/** Reads the value `{"dtype": …, "shape": …, "data_offsets": …}` and checks all that concerns this tensor alone. */
function readEntry(cursor: HeaderCursor, name: string): Entry {
  const place = `tensor ${show(name)}`;
  const found: { dtype?: string; shape?: number[]; offsets?: number[] } = {};
  cursor.readObject(place, (key) => {
    if (key === "dtype") found.dtype = cursor.readString(place);
    else if (key === "shape") found.shape = cursor.readIntegers(`${place} shape`);
    else if (key === "data_offsets") found.offsets = cursor.readIntegers(`${place} data_offsets`);
    else throw refusal(`${place} has the unknown key ${show(key)}, wanted dtype, shape and data_offsets`);
  });
  const { dtype, shape, offsets } = found;
  if (dtype === undefined || shape === undefined || offsets === undefined) {
    throw refusal(`${place} lacks a key, wanted dtype, shape and data_offsets`);
  }
  if (!isDtype(dtype)) throw refusal(`${place} has dtype ${show(dtype)}, wanted one of ${DTYPES.join(", ")}`);
  const [begin, end] = offsets;
  if (begin === undefined || end === undefined || offsets.length !== 2) {
    throw refusal(`${place} has ${offsets.length} data_offsets, wanted 2`);
  }
  const wanted = byteLengthOf(dtype, shape);
  if (wanted === null) {
    throw refusal(`${place} has shape ${show(`[${shape}]`)}, wanted one of less than 2^53 bytes`);
  }
  if (end - begin !== wanted) {
    throw refusal(`${place} has data_offsets ${begin} to ${end}, wanted ${wanted} bytes for its shape`);
  }
  return { name, dtype, shape, begin, end };
}

/** Demands that the tensors' bytes follow one another from 0 to the file's end: no byte is shared, none is hidden. */
function checkLayout(entries: readonly Entry[], dataSize: number): void {
  let offset = 0;
  for (const { name, begin, end } of entries.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== offset) {
      const fault = begin < offset ? "an overlap" : "a hole";
      throw refusal(`tensor ${show(name)} begins at byte ${begin}, wanted ${offset}: ${fault}`);
    }
    if (end > dataSize) {
      throw refusal(`tensor ${show(name)} ends at byte ${end}, wanted at most ${dataSize}, the file's end`);
    }
    offset = end;
  }
  if (offset !== dataSize) throw refusal(`found ${dataSize - offset} trailing bytes, wanted none`);
}

/**
 * Walks the header's text and accepts only the JSON that a header consists of: objects, strings, lists of unsigned
 * integers. Unlike JSON.parse it sees a repeated key, and it stops at the first token that does not belong, so deep
 * or wide nesting is never built.
 */
class HeaderCursor {
  private position = 0;
  /** whatever stands where a number should */
  private readonly token = /[-+.\w]+/y;

  constructor(private readonly text: string) {}

  /** Reads `{"key": value, …}`; `readValue` must read the value. Keys are compared as spelled out, without escapes. */
  readObject(place: string, readValue: (key: string) => void): void {
    const keys = new Set<string>();
    this.expect("{", place);
    if (this.accept("}")) return;
    do {
      const key = this.readString(place);
      if (keys.has(key)) throw refusal(`${place} has the key ${show(key)} twice, wanted it once`);
      // harmless here, but a trap for whoever copies names into an object
      if (key === "__proto__") throw refusal(`${place} has the key "__proto__", wanted any other name`);
      keys.add(key);
      this.expect(":", place);
      readValue(key);
    } while (this.accept(","));
    this.expect("}", place);
  }

  readIntegers(place: string): number[] {
    const values: number[] = [];
    this.expect("[", place);
    if (this.accept("]")) return values;
    do values.push(this.readInteger(place));
    while (this.accept(","));
    this.expect("]", place);
    return values;
  }

  readString(place: string): string {
    this.expect('"', place);
    let end = this.position;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === "\\" ? 2 : 1;
    const literal = this.text.slice(this.position - 1, end + 1);
    this.position = end + 1;
    try {
      const value: string = JSON.parse(literal);
      if (!/\p{Surrogate}/u.test(value)) return value;
    } catch (cause) {
      throw refusal(`${place} holds a string that is not valid JSON, wanted a valid one`, cause);
    }
    throw refusal(`${place} holds a string with half a surrogate pair, wanted Unicode text`);
  }

  /** Demands that nothing but padding is left. */
  expectEnd(): void {
    if (this.peek() !== undefined) throw this.unexpected("header", "nothing but spaces after the object");
  }

  private readInteger(place: string): number {
    this.peek();
    this.token.lastIndex = this.position;
    const literal = this.token.exec(this.text)?.[0];
    if (literal === undefined) throw this.unexpected(place, "an integer");
    this.position += literal.length;
    const value = Number(literal);
    if (/^(0|[1-9]\d*)$/.test(literal) && Number.isSafeInteger(value)) return value;
    throw refusal(`${place} holds ${show(literal)}, wanted integers from 0 to 2^53 - 1`);
  }

  /** The next character that is not JSON's white space. */
  private peek(): string | undefined {
    while (WHITE_SPACE.has(this.text.charCodeAt(this.position))) this.position++;
    return this.text[this.position];
  }

  private accept(character: string): boolean {
    const accepted = this.peek() === character;
    if (accepted) this.position++;
    return accepted;
  }

  private expect(character: string, place: string): void {
    if (!this.accept(character)) throw this.unexpected(place, character === '"' ? "a string" : character);
  }

  private unexpected(place: string, wanted: string): JudgeError {
    const found = this.position < this.text.length ? show(this.text.charAt(this.position)) : "its end";
    return refusal(`${place}: found ${found} at character ${this.position} of the header, wanted ${wanted}`);
  }
}

function isDtype(dtype: string): dtype is Tensor["dtype"] {
  return Object.hasOwn(BYTES_PER_VALUE, dtype);
}

/** Bytes of a tensor; null for a shape that is none or too large to count exactly: no overflow passes for a small one. */
function byteLengthOf(dtype: Tensor["dtype"], shape: readonly number[]): number | null {
  let length: number = BYTES_PER_VALUE[dtype];
  for (const size of shape) {
    length *= size;
    if (!Number.isSafeInteger(size) || size < 0 || !Number.isSafeInteger(length)) return null;
  }
  return length;
}

/** IEEE 754 binary16, given as its bits. */
function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** Orders by UTF-8 bytes, as Python's writer does; `<` would order by UTF-16 units. */
function compareUtf8(a: string, b: string): number {
  const [bytesA, bytesB] = [new TextEncoder().encode(a), new TextEncoder().encode(b)];
  const place = bytesA.findIndex((byte, i) => byte !== bytesB[i]);
  return place === -1 ? bytesA.length - bytesB.length : bytesA[place]! - (bytesB[place] ?? -1);
}

/** A name from the file, fit for a message of one line. */
function show(text: string): string {
  return `"${text.slice(0, 80).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "")}"`;
}

function refusal(message: string, cause?: unknown): JudgeError {
  return new JudgeError("checkpoint", `safetensors: ${message}`, { cause });
}
