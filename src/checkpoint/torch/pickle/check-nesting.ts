// Demands that a pickle's value is a tree of bounded depth; branches may be shared. Code that walks the value
// would never return from one that holds itself, and would overflow its stack on a chain of a million lists.
import { pickleRefusal } from "../torch-refusal.js";
import { ObjectBag, PickleTuple, type PickleValue } from "./pickle-values.js";

const maxDepth = 64;

/** Visits each value once. @throws JudgeError `checkpoint` for a cycle and for more than 64 levels */
export function checkNesting(value: PickleValue): void {
  measure(value, 0, new Map());
}

/** The number of levels below `value`. */
function measure(value: PickleValue, depth: number, known: Map<object, number>): number {
  const members = membersOf(value);
  if (members === null) return 0;
  const knownHeight = known.get(value as object);
  if (depth + (knownHeight ?? 1) > maxDepth) {
    throw pickleRefusal(`values nested deeper than ${maxDepth} levels`, "at most that many");
  }
  if (knownHeight !== undefined) return knownHeight;
  let height = 1;
  for (const member of members) height = Math.max(height, 1 + measure(member, depth + 1, known));
  known.set(value as object, height);
  return height;
}

function membersOf(value: PickleValue): Iterable<PickleValue> | null {
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return value.values();
  if (value instanceof PickleTuple) return value.items;
  if (value instanceof ObjectBag) return value.attributes?.values() ?? [];
  return null;
}
