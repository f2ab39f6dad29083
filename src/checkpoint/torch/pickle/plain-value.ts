// A small dict of a pickle → plain JSON values, for the arguments of a chat template.
import { torchRefusal } from "../torch-refusal.js";
import type { Fields } from "./fields.js";
import { describe, type PickleValue } from "./pickle-values.js";

export type PlainValue = null | boolean | number | string | PlainValue[] | { [key: string]: PlainValue };

/** A short pickle can name one list a million times, and a list of such lists too. */
const maxValues = 1000;

/** The keys are sorted, so that equal dicts give equal JSON. */
export function toPlain(fields: Fields): Record<string, PlainValue> {
  let count = 0;
  const convert = (value: PickleValue): PlainValue => {
    if (++count > maxValues) {
      throw torchRefusal(fields.place, {
        found: `more than ${maxValues} values`,
        wanted: "at most that many",
      });
    }
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    if (Array.isArray(value)) return value.map(convert);
    if (value instanceof Map) return convertDict(value);
    throw torchRefusal(fields.place, { found: describe(value), wanted: "JSON values" });
  };
  const convertDict = (dict: ReadonlyMap<string | number, PickleValue>): Record<string, PlainValue> => {
    const names = [...dict.keys()].map((key) => {
      if (typeof key === "string") return key;
      throw torchRefusal(fields.place, { found: `the key ${key}`, wanted: "texts" });
    });
    // fromEntries sets own properties only, whatever their names
    return Object.fromEntries(names.sort().map((name) => [name, convert(dict.get(name)!)]));
  };
  return convertDict(fields.members());
}
