// Walks the text of a safetensors header. It knows the shape of a header's JSON, not its meaning.
import type { JudgeError } from "../errors.js";
import { safetensorsRefusal } from "./safetensors-refusal.js";
import { show } from "./show.js";

const maxKeys = 100_000;
/** Integers in one list: dimensions of a tensor, or its two offsets. */
const maxIntegers = 64;
const whiteSpace: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Accepts only the JSON that a header consists of: objects, strings, lists of unsigned integers. Unlike
 * JSON.parse it sees a repeated key, and it never builds deep or wide nesting.
 */
export class HeaderCursor {
  private position = 0;
  /** whatever stands in the place of a number */
  private readonly token = /[-+.\w]+/y;

  constructor(private readonly text: string) {}

  /** Reads `{"key": value, …}`; `readValue` must read the value. Escapes in a key are resolved first. */
  readObject(place: string, readValue: (key: string) => void): void {
    const keys = new Set<string>();
    this.expect("{", place);
    if (this.accept("}")) return;
    do {
      const key = this.readString(place);
      if (keys.has(key)) throw safetensorsRefusal(`${place} has the key ${show(key)} twice`, "it once");
      // it does no harm here, but it would to code that copies the names into an object
      if (key === "__proto__") throw safetensorsRefusal(`${place} has the key "__proto__"`, "any other name");
      keys.add(key);
      // V8 stalls on an object of more than 2^23 keys; real files have a few thousand
      if (keys.size > maxKeys)
        throw safetensorsRefusal(`${place} has more than ${maxKeys} keys`, "at most that many");
      this.expect(":", place);
      readValue(key);
    } while (this.accept(","));
    this.expect("}", place);
  }

  readIntegers(place: string): number[] {
    const values: number[] = [];
    this.expect("[", place);
    if (this.accept("]")) return values;
    do {
      if (values.length === maxIntegers)
        throw safetensorsRefusal(`${place} has more than ${maxIntegers} numbers`, "at most that many");
      values.push(this.readInteger(place));
    } while (this.accept(","));
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
      // JSON.parse resolves the escapes of this one string, and refuses raw control characters
      const value: string = JSON.parse(literal);
      if (!/\p{Surrogate}/u.test(value)) return value;
    } catch (cause) {
      throw safetensorsRefusal(`${place} holds a string that is not valid JSON`, "a valid one", cause);
    }
    throw safetensorsRefusal(`${place} holds a string with half a surrogate pair`, "Unicode text");
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
    throw safetensorsRefusal(`${place} holds ${show(literal)}`, "integers from 0 to 2^53 - 1");
  }

  /** The next character that is not JSON's white space. */
  private peek(): string | undefined {
    while (whiteSpace.has(this.text.charCodeAt(this.position))) this.position++;
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
    return safetensorsRefusal(
      `${place}: found ${found} at character ${this.position} of the header`,
      `${wanted}`,
    );
  }
}
