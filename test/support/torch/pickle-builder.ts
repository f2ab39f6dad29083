// Writes pickles and whole torch files for the tests of the readers, value by value and without a memo. By
// default they are as torch.save writes them.
import { packed, text, type ZipPart, zipOf } from "./zip-builder.js";

export type Buildable =
  | null
  | boolean
  | number
  | string
  | readonly Buildable[]
  | { readonly [key: string]: Buildable }
  | Part;

/** Values that JavaScript does not have. */
export abstract class Part {
  abstract write(storages: Map<string, Uint8Array>): number[];
}

export class Float extends Part {
  constructor(readonly value: number) {
    super();
  }

  write(): number[] {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(this.value);
    return [0x47, ...bytes];
  }
}

/** Opcodes that are written as they are. */
export class Raw extends Part {
  constructor(readonly bytes: Iterable<number>) {
    super();
  }

  write(): number[] {
    return [...this.bytes];
  }
}

export class Tuple extends Part {
  constructor(readonly items: readonly Buildable[]) {
    super();
  }

  write(storages: Map<string, Uint8Array>): number[] {
    return [0x28, ...this.items.flatMap((item) => write(item, storages)), 0x74];
  }
}

export class Named extends Part {
  constructor(
    readonly module: string,
    readonly name: string,
  ) {
    super();
  }

  write(): number[] {
    return [0x63, ...text(`${this.module}\n${this.name}\n`)];
  }
}

/** The call callable(*args), and the state of its result. */
export class Call extends Part {
  constructor(
    readonly callable: Buildable,
    readonly args: readonly Buildable[],
    readonly state?: Buildable,
    readonly opcode = 0x52,
  ) {
    super();
  }

  write(storages: Map<string, Uint8Array>): number[] {
    const state = this.state === undefined ? [] : [...write(this.state, storages), 0x62];
    return [
      ...write(this.callable, storages),
      ...write(new Tuple(this.args), storages),
      this.opcode,
      ...state,
    ];
  }
}

/** A torch tensor in a storage of its own. */
export class Tensor extends Part {
  constructor(
    readonly shape: readonly number[],
    readonly values: readonly number[],
    readonly options: {
      readonly type?: "Float" | "Double" | "Long";
      readonly strides?: readonly number[];
      readonly offset?: number;
    } = {},
  ) {
    super();
  }

  write(storages: Map<string, Uint8Array>): number[] {
    const { type = "Float", strides = stridesOf(this.shape), offset = 0 } = this.options;
    const key = String(storages.size);
    const view = new DataView(new ArrayBuffer(this.values.length * (type === "Float" ? 4 : 8)));
    this.values.forEach((value, index) => {
      if (type === "Float") view.setFloat32(4 * index, value, true);
      else if (type === "Double") view.setFloat64(8 * index, value, true);
      else view.setBigInt64(8 * index, BigInt(value), true);
    });
    storages.set(key, new Uint8Array(view.buffer));
    const id = new Tuple(["storage", new Named("torch", `${type}Storage`), key, "cpu", this.values.length]);
    const storage = new Raw([...write(id, storages), 0x51]);
    const rest = [offset, new Tuple(this.shape), new Tuple(strides), false, orderedDict];
    return new Call(new Named("torch._utils", "_rebuild_tensor_v2"), [storage, ...rest]).write(storages);
  }
}

/** A numpy array of f8 or f4 in protocol 2. */
export class Numpy extends Part {
  constructor(
    readonly shape: readonly number[],
    readonly values: readonly number[],
    readonly options: { readonly type?: "f8" | "f4"; readonly fortran?: boolean } = {},
  ) {
    super();
  }

  write(storages: Map<string, Uint8Array>): number[] {
    const { type = "f8", fortran = false } = this.options;
    const data = Buffer.from(
      (type === "f8" ? Float64Array.from(this.values) : Float32Array.from(this.values)).buffer,
    );
    const empty = new Call(new Named("numpy._core.multiarray", "_reconstruct"), [
      new Named("numpy", "ndarray"),
      new Tuple([0]),
      latin1("b"),
    ]);
    const state = new Tuple([
      1,
      new Tuple(this.shape),
      dtype(type),
      fortran,
      latin1(data.toString("latin1")),
    ]);
    return [...empty.write(storages), ...write(state, storages), 0x62];
  }
}

export const orderedDict = new Call(new Named("collections", "OrderedDict"), []);
export const latin1 = (value: string, encoding = "latin1") =>
  new Call(new Named("_codecs", "encode"), [value, encoding]);
export const dtype = (name: string, order = "<", version = 3) =>
  new Call(
    new Named("numpy", "dtype"),
    [name, false, true],
    new Tuple([version, order, null, null, null, -1, -1, 0]),
  );
export const scalar = (name: string, bytes: string) =>
  new Call(new Named("numpy._core.multiarray", "scalar"), [dtype(name), latin1(bytes)]);
/** An object of scikit-learn with these attributes. */
export const sklearn = (module: string, name: string, attributes: Buildable) =>
  new Call(new Named(`sklearn.${module}`, name), [], attributes, 0x81);

export function write(value: Buildable, storages: Map<string, Uint8Array>): number[] {
  if (value instanceof Part) return value.write(storages);
  if (value === null) return [0x4e];
  if (typeof value === "boolean") return [value ? 0x88 : 0x89];
  if (typeof value === "number") {
    return Number.isInteger(value) ? [0x4a, ...packed([4, value >>> 0])] : new Float(value).write();
  }
  if (typeof value === "string") return [0x58, ...packed([4, text(value).length]), ...text(value)];
  if (Array.isArray(value)) {
    return [0x5d, 0x28, ...value.flatMap((item: Buildable) => write(item, storages)), 0x65];
  }
  const members = Object.entries(value).flatMap(([key, member]) => [
    ...write(key, storages),
    ...write(member, storages),
  ]);
  return [0x7d, 0x28, ...members, 0x75];
}

/** A whole pickle: the protocol, these opcodes, STOP. */
export function pickleOf(opcodes: Iterable<number>, protocol = 2): Uint8Array {
  return Uint8Array.from([0x80, protocol, ...opcodes, 0x2e]);
}

export function torchFile(root: Buildable): Uint8Array {
  const storages = new Map<string, Uint8Array>();
  const pickle = pickleOf(write(root, storages));
  return torchZip(pickle, storages);
}

export function torchZip(
  pickle: Uint8Array,
  storages: ReadonlyMap<string, Uint8Array> = new Map(),
): Uint8Array {
  const parts: ZipPart[] = [
    { name: "archive/data.pkl", data: pickle },
    { name: "archive/byteorder", data: text("little") },
    ...[...storages].map(([key, data]) => ({ name: `archive/data/${key}`, data })),
    { name: "archive/version", data: text("3\n") },
  ];
  return zipOf(parts);
}

function stridesOf(shape: readonly number[]): number[] {
  return shape.map((_, dimension) => shape.slice(dimension + 1).reduce((product, size) => product * size, 1));
}
