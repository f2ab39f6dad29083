// torch's storages and tensors in a pickle: which entry of the zip file each means, and which values.
import { bytesPerValue, type Dtype } from "../../safetensors-header.js";
import { show } from "../../show.js";
import { distrust, pickleRefusal } from "../torch-refusal.js";
import { sizesOf } from "./numpy.js";
import {
  describe,
  Global,
  OrderedDict,
  PickleTuple,
  type PickleValue,
  Storage,
  StridedArray,
} from "./pickle-values.js";

const storageTypes: ReadonlyMap<string, Dtype> = new Map([
  ["torch.FloatStorage", "F32"],
  ["torch.DoubleStorage", "F64"],
  ["torch.HalfStorage", "F16"],
  ["torch.BFloat16Storage", "BF16"],
  ["torch.LongStorage", "I64"],
]);

/** The zip file's storages, handed out by persistent id. */
export class StorageShelf {
  private readonly used = new Set<string>();

  constructor(private readonly storages: ReadonlyMap<string, Uint8Array>) {}

  /** @param id ("storage", type, key, device, number of values); the device does not matter */
  take(id: PickleValue): Storage {
    const [kind, type, key, device, count, ...rest] = id instanceof PickleTuple ? id.items : [];
    const dtype = type instanceof Global ? storageTypes.get(type.name) : undefined;
    if (kind !== "storage" || dtype === undefined || typeof device !== "string" || rest.length !== 0) {
      throw pickleRefusal(`a persistent id of ${describe(type)}`, "a tensor's storage", distrust);
    }
    const data = typeof key === "string" ? this.storages.get(key) : undefined;
    if (typeof key !== "string" || data === undefined) {
      throw pickleRefusal(`a storage ${describe(key)} that the file lacks`, "one of data/");
    }
    const wanted = data.length / bytesPerValue[dtype];
    if (count !== wanted) {
      throw pickleRefusal(`storage ${show(key)} with ${describe(count)} values ${dtype}`, `${wanted}`);
    }
    this.used.add(key);
    return new Storage(dtype, data);
  }

  checkAllUsed(): void {
    const unused = [...this.storages.keys()].find((key) => !this.used.has(key));
    if (unused !== undefined) throw pickleRefusal(`the storage ${show(unused)} unused`, "all used");
  }
}

/** _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks): a view within its storage. */
export function rebuildTensor(args: readonly PickleValue[]): StridedArray {
  const [storage, offset, size, stride, requiresGrad, hooks, ...rest] = args;
  if (!(storage instanceof Storage) || !(size instanceof PickleTuple) || !(stride instanceof PickleTuple)) {
    throw pickleRefusal("a tensor without storage, sizes or strides", "them");
  }
  const isPlain = typeof requiresGrad === "boolean" && hooks instanceof OrderedDict && hooks.size === 0;
  if (!isPlain || rest.length !== 0) throw pickleRefusal("a tensor with hooks", "none", distrust);
  const sizes = sizesOf(size);
  const strides = stride.items.map(distanceOf);
  const begin = distanceOf(offset);
  const bytes = bytesPerValue[storage.dtype];
  const available = storage.data.length / bytes;
  const last = sizes.reduce(
    (sum, length, dimension) => sum + (length - 1) * (strides[dimension] ?? 0),
    begin,
  );
  const count = sizes.reduce((product, length) => product * length, 1);
  // with strides of 0, a small file could ask for any number of values
  if (strides.length !== sizes.length || last >= available || count > available) {
    throw pickleRefusal(
      `a tensor [${sizes}] with strides [${strides}] from ${begin}`,
      `it within ${available} values`,
    );
  }
  return new StridedArray(storage.dtype, sizes, strides, storage.data.subarray(begin * bytes));
}

function distanceOf(value: PickleValue | undefined): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw pickleRefusal(`the offset or stride ${describe(value)}`, "an integer from 0");
}
