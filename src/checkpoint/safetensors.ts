// Reads and writes the safetensors format: 8-byte header length, JSON header, tensor bytes. The reader trusts
// no byte of the file and builds nothing larger than it.
// Format: https://github.com/huggingface/safetensors; tests compare with Python's safetensors 0.8.

import {
  byteLengthOf,
  bytesPerValue,
  type Dtype,
  dtypes,
  metadataKey,
  readHeader,
} from "./safetensors-header.js";
import { safetensorsRefusal } from "./safetensors-refusal.js";
import { show } from "./show.js";

export interface Tensor {
  readonly dtype: Dtype;
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
 * Reads a whole safetensors file. The tensors are views of `bytes`; nothing is copied.
 * @throws JudgeError `checkpoint` for every file that is not exactly as the format demands. It is stricter
 *   than Python's reader: no key may occur twice, be unknown or be `__proto__`.
 */
export function parseSafetensors(bytes: Uint8Array): SafetensorsFile {
  const { entries, metadata, end: headerEnd } = readHeader(bytes);
  const tensors = new Map<string, Tensor>();
  for (const { name, dtype, shape, begin, end } of entries) {
    // bytes.subarray of a Buffer would give another Buffer, whose slice() does not copy
    const data = new Uint8Array(bytes.buffer, bytes.byteOffset + headerEnd + begin, end - begin);
    tensors.set(name, { dtype, shape, data });
  }
  return { tensors, metadata };
}

/**
 * The tensor's values as float32, row-major; F64 is rounded, beyond float32's range to ±Infinity.
 * @throws JudgeError `checkpoint` for an I64 tensor
 */
export function toFloat32({ dtype, data }: Tensor): Float32Array {
  if (dtype === "I64") throw safetensorsRefusal("found a tensor of dtype I64", "F32, F16, BF16 or F64");
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const values = new Float32Array(data.byteLength / bytesPerValue[dtype]);
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
 * An F32 tensor with a copy of `values`, row-major in `shape`.
 * @throws JudgeError `checkpoint` where the shape does not hold that many values
 */
export function fromFloat32(values: Float32Array, shape: readonly number[]): Tensor {
  if (byteLengthOf("F32", shape) !== values.byteLength) {
    throw safetensorsRefusal(`found ${values.length} values`, `as many as shape ${show(`[${shape}]`)} holds`);
  }
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const view = new DataView(new ArrayBuffer(values.byteLength));
  for (let i = 0; i < bits.length; i++) view.setUint32(4 * i, bits[i]!, true);
  return { dtype: "F32", shape: [...shape], data: new Uint8Array(view.buffer) };
}

/**
 * The bytes of a safetensors file. The order of `tensors` and `metadata` does not matter. Python's writer
 * makes the same bytes, except that it leaves the order of metadata to chance. Empty metadata is not written.
 * @throws JudgeError `checkpoint` for what parseSafetensors would not read back
 */
export function serializeSafetensors(
  tensors: Iterable<readonly [name: string, tensor: Tensor]>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array {
  const sorted = [...tensors].sort(
    ([nameA, a], [nameB, b]) =>
      dtypes.indexOf(a.dtype) - dtypes.indexOf(b.dtype) || compareUtf8(nameA, nameB),
  );
  // joined by hand: an object would drop a repeated name in silence, and the reader below refuses it
  const member = (key: string, value: unknown) => `${JSON.stringify(key)}:${JSON.stringify(value)}`;
  const names = Object.keys(metadata).sort(compareUtf8);
  const members =
    names.length === 0 ? [] : [`"${metadataKey}":{${names.map((name) => member(name, metadata[name]))}}`];
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

/** The number that these bits of IEEE 754 binary16 stand for. */
function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** Orders by UTF-8 bytes, as Python's writer does. `<` would order by UTF-16 units. */
function compareUtf8(a: string, b: string): number {
  const [bytesA, bytesB] = [new TextEncoder().encode(a), new TextEncoder().encode(b)];
  const place = bytesA.findIndex((byte, i) => byte !== bytesB[i]);
  return place === -1 ? bytesA.length - bytesB.length : bytesA[place]! - (bytesB[place] ?? -1);
}
