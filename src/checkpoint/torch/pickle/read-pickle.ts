// The restricted pickle machine: data.pkl → plain values. It imports nothing and calls nothing that a file
// names, and no switch changes that. pickle-objects.ts has the closed list of what Python would build with a
// call; anything else is refused by its name. The opcodes are those that torch.save writes (protocol 2), and
// those of protocols 3 and 4.

import { distrust, pickleRefusal } from "../torch-refusal.js";
import { checkNesting } from "./check-nesting.js";
import { opcodeName } from "./opcode-name.js";
import { PickleCursor } from "./pickle-cursor.js";
import { PickleObjects } from "./pickle-objects.js";
import { PickleStack } from "./pickle-stack.js";
import { LongText, PickleTuple, type PickleValue } from "./pickle-values.js";

/** Many times what a large head takes. */
const maxSteps = 500_000;
/** A container costs more memory than its opcode, so a short pickle may have only a few. */
const maxContainers = { base: 1000, perByte: 1 / 5, inAll: 100_000 };
const maxMembers = 100_000;
/** A longer text is never decoded. It can only become the bytes of an array. */
const maxTextBytes = 4096;
const stop = 0x2e;

/**
 * @param bytes the whole of data.pkl
 * @param storages the bytes of data/KEY by key, which hold the values of the pickle's tensors
 * @throws JudgeError `checkpoint` that names a global or an opcode which is not on the list, and for every
 *   pickle that is incomplete or exceeds a limit
 */
export function readPickle(bytes: Uint8Array, storages: ReadonlyMap<string, Uint8Array>): PickleValue {
  const machine = new PickleMachine(bytes, storages);
  const value = machine.run();
  checkNesting(value);
  return value;
}

class PickleMachine {
  readonly stack = new PickleStack();
  readonly cursor: PickleCursor;
  readonly objects: PickleObjects;
  private readonly decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  private containersLeft: number;

  constructor(bytes: Uint8Array, storages: ReadonlyMap<string, Uint8Array>) {
    const { base, perByte, inAll } = maxContainers;
    this.containersLeft = Math.min(inAll, base + Math.floor(bytes.byteLength * perByte));
    this.cursor = new PickleCursor(bytes);
    this.objects = new PickleObjects(storages, bytes.byteLength);
  }

  run(): PickleValue {
    if (this.cursor.uint8() !== 0x80) throw pickleRefusal("no protocol number", "a pickle");
    const protocol = this.cursor.uint8();
    if (protocol < 2 || protocol > 4) {
      throw pickleRefusal(`protocol ${protocol}`, "2 to 4", "save it again with pickle_protocol=2");
    }
    for (let step = 0; step < maxSteps; step++) {
      const opcode = this.cursor.uint8();
      if (opcode === stop) return this.end();
      const operation = operations.get(opcode);
      if (operation === undefined) {
        throw pickleRefusal(`the opcode ${opcodeName(opcode)}`, "those of torch.save", distrust);
      }
      operation(this);
    }
    throw pickleRefusal(`more than ${maxSteps} opcodes`, "at most that many");
  }

  /** Pushes a container or an object, which costs more memory than its opcode. */
  create(value: PickleValue): void {
    if (this.containersLeft-- === 0) {
      throw pickleRefusal("more containers than any checkpoint of its size", "fewer");
    }
    this.stack.push(value);
  }

  pushText(bytes: Uint8Array): void {
    if (bytes.length > maxTextBytes) {
      this.create(new LongText(bytes));
      return;
    }
    try {
      this.stack.push(this.decoder.decode(bytes));
    } catch {
      throw pickleRefusal("a text that is not UTF-8", "UTF-8");
    }
  }

  append(values: readonly PickleValue[]): void {
    const list = this.stack.top();
    if (!Array.isArray(list)) throw pickleRefusal("members for what is no list", "a list");
    if (list.length + values.length > maxMembers) throw tooMany();
    for (const value of values) list.push(value);
  }

  setItems(values: readonly PickleValue[]): void {
    const dict = this.stack.top();
    if (!(dict instanceof Map) || values.length % 2 !== 0) {
      throw pickleRefusal("keys for what is no dict, or a key without a value", "neither");
    }
    if (dict.size + values.length / 2 > maxMembers) throw tooMany();
    for (let index = 0; index < values.length; index += 2) {
      const key = values[index];
      if (typeof key !== "string" && !(typeof key === "number" && Number.isSafeInteger(key))) {
        throw pickleRefusal("a key that is neither a text nor an integer", "one");
      }
      // it does no harm in a Map, but it would to code that copies the keys into an object
      if (key === "__proto__") throw pickleRefusal('the key "__proto__"', "any other");
      if (dict.has(key)) throw pickleRefusal("a key twice in one dict", "it once");
      dict.set(key, values[index + 1]!);
    }
  }

  pushTuple(length: number): void {
    const items: PickleValue[] = [];
    for (let index = 0; index < length; index++) items.unshift(this.stack.pop());
    this.create(new PickleTuple(items));
  }

  /** Takes two values off the stack; returns the lower one first. */
  popTwo(): [PickleValue, PickleValue] {
    const second = this.stack.pop();
    return [this.stack.pop(), second];
  }

  private end(): PickleValue {
    if (this.cursor.bytesLeft !== 0) {
      throw pickleRefusal(`${this.cursor.bytesLeft} bytes behind the pickle`, "none");
    }
    this.objects.checkAllUsed();
    return this.stack.result();
  }
}

function tooMany(): Error {
  return pickleRefusal(`more than ${maxMembers} members in one list or dict`, "at most that many");
}

type Operation = (machine: PickleMachine) => void;

const operations: ReadonlyMap<number, Operation> = new Map<number, Operation>([
  // constants
  [0x4e, ({ stack }) => stack.push(null)],
  [0x88, ({ stack }) => stack.push(true)],
  [0x89, ({ stack }) => stack.push(false)],
  [0x4a, ({ stack, cursor }) => stack.push(cursor.int32())],
  [0x4b, ({ stack, cursor }) => stack.push(cursor.uint8())],
  [0x4d, ({ stack, cursor }) => stack.push(cursor.uint16())],
  [0x8a, ({ stack, cursor }) => stack.push(cursor.long1())],
  [0x47, ({ stack, cursor }) => stack.push(cursor.float64())],
  [0x8c, (machine) => machine.pushText(machine.cursor.take(machine.cursor.uint8()))],
  [0x58, (machine) => machine.pushText(machine.cursor.take(machine.cursor.uint32()))],
  [0x8d, (machine) => machine.pushText(machine.cursor.take(machine.cursor.length64()))],
  [0x43, (machine) => machine.create(machine.cursor.take(machine.cursor.uint8()))],
  [0x42, (machine) => machine.create(machine.cursor.take(machine.cursor.uint32()))],
  [0x8e, (machine) => machine.create(machine.cursor.take(machine.cursor.length64()))],
  // containers
  [0x28, ({ stack }) => stack.mark()],
  [0x7d, (machine) => machine.create(new Map())],
  [0x5d, (machine) => machine.create([])],
  [0x29, (machine) => machine.pushTuple(0)],
  [0x85, (machine) => machine.pushTuple(1)],
  [0x86, (machine) => machine.pushTuple(2)],
  [0x87, (machine) => machine.pushTuple(3)],
  [0x74, (machine) => machine.create(new PickleTuple(machine.stack.popMark()))],
  [0x61, (machine) => machine.append([machine.stack.pop()])],
  [0x65, (machine) => machine.append(machine.stack.popMark())],
  [0x73, (machine) => machine.setItems(machine.popTwo())],
  [0x75, (machine) => machine.setItems(machine.stack.popMark())],
  // memo
  [0x71, ({ stack, cursor }) => stack.memoize(cursor.uint8())],
  [0x72, ({ stack, cursor }) => stack.memoize(cursor.uint32())],
  [0x94, ({ stack }) => stack.memoize()],
  [0x68, ({ stack, cursor }) => stack.recall(cursor.uint8())],
  [0x6a, ({ stack, cursor }) => stack.recall(cursor.uint32())],
  // what Python would look up and call
  [0x63, ({ stack, cursor, objects }) => stack.push(objects.lookUp(cursor.line(), cursor.line()))],
  [0x93, (machine) => machine.stack.push(machine.objects.lookUp(...machine.popTwo()))],
  [0x52, (machine) => machine.create(machine.objects.reduce(...machine.popTwo()))],
  [0x81, (machine) => machine.create(machine.objects.create(...machine.popTwo()))],
  [0x62, (machine) => machine.objects.build(machine.stack.pop(), machine.stack.top())],
  [0x51, (machine) => machine.create(machine.objects.storage(machine.stack.pop()))],
  // a frame only says how many bytes follow
  [0x95, ({ cursor }) => void cursor.length64()],
]);
