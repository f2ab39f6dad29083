// Reads the members of one dict of a pickle by name and kind. `end` refuses a member that nobody read.
import type { JudgeError } from "../../../errors.js";
import { show } from "../../show.js";
import { torchRefusal } from "../torch-refusal.js";
import { describe, ObjectBag, type PickleDict, PickleTuple, type PickleValue } from "./pickle-values.js";

export class Fields {
  private readonly unread: Set<string | number>;

  private constructor(
    private readonly dict: PickleDict,
    readonly place: string,
  ) {
    this.unread = new Set(dict.keys());
  }

  static of(value: PickleValue | undefined, place: string): Fields {
    if (value instanceof Map) return new Fields(value, place);
    throw torchRefusal(place, { found: describe(value), wanted: "a dict" });
  }

  /** The attributes of an object of this class. */
  static ofObject(value: PickleValue, className: string, place: string): Fields {
    if (value instanceof ObjectBag && value.className === className && value.attributes !== null) {
      return new Fields(value.attributes, place);
    }
    throw torchRefusal(place, {
      found: describe(value),
      wanted: `an object of ${className} with its attributes`,
    });
  }

  get names(): readonly (string | number)[] {
    return [...this.dict.keys()];
  }

  has(name: string): boolean {
    return this.dict.has(name);
  }

  take(name: string): PickleValue {
    const value = this.dict.get(name);
    if (value === undefined)
      throw torchRefusal(this.placeOf(name), { found: "nothing", wanted: "it to be there" });
    this.unread.delete(name);
    return value;
  }

  text(name: string): string {
    const value = this.take(name);
    if (typeof value === "string" && value !== "") return value;
    throw this.refusal(name, describe(value), "a text");
  }

  boolean(name: string): boolean {
    const value = this.take(name);
    if (typeof value === "boolean") return value;
    throw this.refusal(name, describe(value), "True or False");
  }

  /** A positive integer, as a dimension is. */
  size(name: string): number {
    return sizeOf(this.take(name), this.placeOf(name));
  }

  /** Finite and not below 0. */
  amount(name: string): number {
    const value = this.take(name);
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
    throw this.refusal(name, describe(value), "a number from 0");
  }

  list(name: string): readonly PickleValue[] {
    const value = this.take(name);
    if (Array.isArray(value)) return value;
    if (value instanceof PickleTuple) return value.items;
    throw this.refusal(name, describe(value), "a list");
  }

  /** A list of at least one text. No text occurs twice. */
  texts(name: string): readonly string[] {
    return distinct(
      this.list(name).map((value) => {
        if (typeof value === "string" && value !== "") return value;
        throw this.refusal(name, `${describe(value)} in it`, "texts");
      }),
      this.placeOf(name),
    );
  }

  /** A hidden-state index. */
  layer(name: string): number {
    return layerOf(this.take(name), this.placeOf(name));
  }

  /** A list of at least one hidden-state index. No index occurs twice. */
  layers(name: string): readonly number[] {
    return distinct(
      this.list(name).map((value) => layerOf(value, this.placeOf(name))),
      this.placeOf(name),
    );
  }

  fields(name: string): Fields {
    return Fields.of(this.take(name), this.placeOf(name));
  }

  /** All members; they count as read. */
  members(): ReadonlyMap<string | number, PickleValue> {
    this.unread.clear();
    return this.dict;
  }

  /** Demands exactly this value. */
  expect(name: string, wanted: string | number | boolean): void {
    const value = this.take(name);
    if (value !== wanted) {
      throw torchRefusal(this.placeOf(name), {
        found: describe(value),
        wanted: describe(wanted),
        remedy: "only that is known here",
      });
    }
  }

  /** Demands that every member was read. */
  end(): void {
    const [name] = this.unread;
    if (name === undefined) return;
    throw this.refusal(String(name), "a member that the format does not know", "none");
  }

  placeOf(name: string): string {
    return `${this.place}.${/^[\w.-]{1,80}$/.test(name) ? name : show(name)}`;
  }

  refusal(name: string, found: string, wanted: string): JudgeError {
    return torchRefusal(this.placeOf(name), { found, wanted });
  }
}

function layerOf(value: PickleValue, place: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxLayer) return value;
  throw torchRefusal(place, {
    found: `the layer ${describe(value)}`,
    wanted: `an integer from 0 to ${maxLayer}`,
  });
}

export function sizeOf(value: PickleValue, place: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value > 0 && value <= maxSize) return value;
  throw torchRefusal(place, { found: describe(value), wanted: `an integer from 1 to ${maxSize}` });
}

/** No encoder and no dimension of a head comes near these limits. A larger number is a damaged one. */
const maxLayer = 10_000;
const maxSize = 10_000_000;

function distinct<T extends string | number>(values: readonly T[], place: string): readonly T[] {
  const seen = new Set<T>();
  for (const value of values) {
    if (seen.has(value)) throw torchRefusal(place, { found: `${describe(value)} twice`, wanted: "it once" });
    seen.add(value);
  }
  if (values.length > 0) return values;
  throw torchRefusal(place, { found: "an empty list", wanted: "at least one member" });
}
