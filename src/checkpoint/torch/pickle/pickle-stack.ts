// The stack, marks and memo of the pickle machine, each with a cap. Knows no opcode.
import { pickleRefusal } from "../torch-refusal.js";
import type { PickleValue } from "./pickle-values.js";

/** Python writes at most 1,000 members at a time, of two values each. */
const maxStack = 10_000;
const maxMarks = 200;
const maxMemo = 200_000;

export class PickleStack {
  private readonly values: PickleValue[] = [];
  /** the heights of the stack at which there is a MARK */
  private readonly marks: number[] = [];
  private readonly memo: PickleValue[] = [];

  push(value: PickleValue): void {
    if (this.values.length === maxStack) {
      throw pickleRefusal(`more than ${maxStack} values on the stack`, "at most that many");
    }
    this.values.push(value);
  }

  pop(): PickleValue {
    const value = this.top();
    this.values.length--;
    return value;
  }

  /** The topmost value. It must lie above the last mark. */
  top(): PickleValue {
    const value = this.values.at(-1);
    if (value === undefined || this.values.length <= (this.marks.at(-1) ?? 0)) {
      throw pickleRefusal("an opcode that takes more than the stack holds", "a whole pickle");
    }
    return value;
  }

  mark(): void {
    if (this.marks.length === maxMarks) {
      throw pickleRefusal(`more than ${maxMarks} open marks`, "at most that many");
    }
    this.marks.push(this.values.length);
  }

  /** Removes the last mark and all values above it; returns the values. */
  popMark(): PickleValue[] {
    const height = this.marks.pop();
    if (height === undefined) throw pickleRefusal("an opcode that takes all above a mark", "one before it");
    return this.values.splice(height);
  }

  /** Keeps the topmost value under the next number, which must be `index` if that is given. */
  memoize(index = this.memo.length): void {
    if (index !== this.memo.length || index === maxMemo) {
      throw pickleRefusal(`memo number ${index}`, `${this.memo.length} of at most ${maxMemo}`);
    }
    this.memo.push(this.top());
  }

  recall(index: number): void {
    const value = this.memo[index];
    if (value === undefined)
      throw pickleRefusal(`memo number ${index} before it was kept`, `a number below ${this.memo.length}`);
    this.push(value);
  }

  /** The one value that a whole pickle leaves on the stack. */
  result(): PickleValue {
    const [value] = this.values;
    if (value === undefined || this.values.length !== 1 || this.marks.length !== 0) {
      throw pickleRefusal(`${this.values.length} values at the end`, "1");
    }
    return value;
  }
}
