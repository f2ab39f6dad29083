// Writes a pickle (protocol 2) of plain values and torch tensors. It uses the opcodes and globals that
// torch.save uses and torch.load(weights_only=True) accepts.

/** A contiguous tensor. Its values become a storage of the file. */
export class TensorToWrite {
  constructor(
    readonly values: Float32Array | Float64Array,
    readonly shape: readonly number[],
  ) {}
}

export type WritableValue =
  | null
  | boolean
  | number
  | string
  | TensorToWrite
  | readonly WritableValue[]
  | { readonly [key: string]: WritableValue };

export interface Pickled {
  readonly bytes: Uint8Array;
  /** the storages' bytes, little-endian, by their key: data/0, data/1, … */
  readonly storages: readonly Uint8Array[];
}

const opcodes = {
  protocol: 0x80,
  emptyDict: 0x7d,
  emptyList: 0x5d,
  emptyTuple: 0x29,
  mark: 0x28,
  setItems: 0x75,
  appends: 0x65,
  tuple: 0x74,
  tuple1: 0x85,
  tuple2: 0x86,
  text: 0x58,
  byte: 0x4b,
  twoBytes: 0x4d,
  fourBytes: 0x4a,
  float: 0x47,
  none: 0x4e,
  yes: 0x88,
  no: 0x89,
  global: 0x63,
  persistentId: 0x51,
  reduce: 0x52,
  stop: 0x2e,
} as const;

export function writePickle(value: WritableValue): Pickled {
  const output: number[] = [opcodes.protocol, 2];
  const storages: Uint8Array[] = [];
  write(output, storages, value);
  output.push(opcodes.stop);
  return { bytes: Uint8Array.from(output), storages };
}

function write(output: number[], storages: Uint8Array[], value: WritableValue): void {
  if (value === null) output.push(opcodes.none);
  else if (typeof value === "boolean") output.push(value ? opcodes.yes : opcodes.no);
  else if (typeof value === "number") writeNumber(output, value);
  else if (typeof value === "string") writeText(output, value);
  else if (value instanceof TensorToWrite) writeTensor(output, storages, value);
  else if (Array.isArray(value)) {
    output.push(opcodes.emptyList, opcodes.mark);
    for (const item of value as readonly WritableValue[]) write(output, storages, item);
    output.push(opcodes.appends);
  } else {
    output.push(opcodes.emptyDict, opcodes.mark);
    for (const [key, item] of Object.entries(value)) {
      writeText(output, key);
      write(output, storages, item);
    }
    output.push(opcodes.setItems);
  }
}

function writeNumber(output: number[], value: number): void {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  if (!Number.isInteger(value) || Math.abs(value) >= 2 ** 31) {
    view.setFloat64(0, value);
    output.push(opcodes.float, ...bytes);
  } else if (value >= 0 && value < 256) output.push(opcodes.byte, value);
  else if (value >= 0 && value < 65_536) output.push(opcodes.twoBytes, value & 255, value >> 8);
  else {
    view.setInt32(0, value, true);
    output.push(opcodes.fourBytes, ...bytes.subarray(0, 4));
  }
}

function writeText(output: number[], text: string): void {
  const bytes = new TextEncoder().encode(text);
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, bytes.length, true);
  output.push(opcodes.text, ...size);
  for (const byte of bytes) output.push(byte);
}

function writeGlobal(output: number[], module: string, name: string): void {
  output.push(opcodes.global, ...new TextEncoder().encode(`${module}\n${name}\n`));
}

/** torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, OrderedDict()) */
function writeTensor(output: number[], storages: Uint8Array[], { values, shape }: TensorToWrite): void {
  writeGlobal(output, "torch._utils", "_rebuild_tensor_v2");
  output.push(opcodes.mark, opcodes.mark);
  writeText(output, "storage");
  writeGlobal(output, "torch", values instanceof Float64Array ? "DoubleStorage" : "FloatStorage");
  writeText(output, String(storages.length));
  writeText(output, "cpu");
  writeNumber(output, values.length);
  output.push(opcodes.tuple, opcodes.persistentId);
  writeNumber(output, 0);
  writeSizes(output, shape);
  writeSizes(output, stridesOf(shape));
  output.push(opcodes.no);
  writeGlobal(output, "collections", "OrderedDict");
  output.push(opcodes.emptyTuple, opcodes.reduce, opcodes.tuple, opcodes.reduce);
  storages.push(littleEndian(values));
}

function writeSizes(output: number[], sizes: readonly number[]): void {
  const closing = { 0: opcodes.emptyTuple, 1: opcodes.tuple1, 2: opcodes.tuple2 }[sizes.length];
  if (closing === undefined) output.push(opcodes.mark);
  for (const size of sizes) writeNumber(output, size);
  output.push(closing ?? opcodes.tuple);
}

function stridesOf(shape: readonly number[]): number[] {
  let stride = 1;
  return shape
    .toReversed()
    .map((size) => {
      const own = stride;
      stride *= size;
      return own;
    })
    .reverse();
}

function littleEndian(values: Float32Array | Float64Array): Uint8Array {
  const bytes = new Uint8Array(values.byteLength);
  const view = new DataView(bytes.buffer);
  const size = values.BYTES_PER_ELEMENT;
  values.forEach((value, index) => {
    if (size === 8) view.setFloat64(index * 8, value, true);
    else view.setFloat32(index * 4, value, true);
  });
  return bytes;
}
