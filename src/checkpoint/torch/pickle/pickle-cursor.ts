// Reads the arguments of a pickle's opcodes. Every length is checked before it is followed.
import { pickleRefusal } from "../torch-refusal.js";

const maxLineBytes = 200;

export class PickleCursor {
  private position = 0;
  private readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get bytesLeft(): number {
    return this.view.byteLength - this.position;
  }

  uint8(): number {
    return this.view.getUint8(this.advance(1));
  }

  uint16(): number {
    return this.view.getUint16(this.advance(2), true);
  }

  uint32(): number {
    return this.view.getUint32(this.advance(4), true);
  }

  int32(): number {
    return this.view.getInt32(this.advance(4), true);
  }

  /** Big-endian, as pickle writes it. */
  float64(): number {
    return this.view.getFloat64(this.advance(8));
  }

  /** An 8-byte length of at most the bytes left. */
  length64(): number {
    const length = this.view.getBigUint64(this.advance(8), true);
    if (length > this.bytesLeft) throw this.tooShort(String(length));
    return Number(length);
  }

  /** LONG1: the first byte gives the length of a little-endian integer in two's complement. */
  long1(): number {
    const length = this.uint8();
    if (length > 8) throw pickleRefusal(`an integer of ${length} bytes`, "at most 8");
    let value = 0n;
    for (let index = 0; index < length; index++) value |= BigInt(this.uint8()) << BigInt(8 * index);
    const number = Number(BigInt.asIntN(8 * length, value));
    if (Number.isSafeInteger(number)) return number;
    throw pickleRefusal("an integer beyond 2^53", "a smaller one");
  }

  /** The next bytes, as a view. */
  take(length: number): Uint8Array {
    const begin = this.advance(length);
    return new Uint8Array(this.view.buffer, this.view.byteOffset + begin, length);
  }

  /** Printable ASCII up to a line break. */
  line(): string {
    const begin = this.position;
    while (this.uint8() !== 0x0a) {
      if (this.position - begin > maxLineBytes) {
        throw pickleRefusal(`a name of more than ${maxLineBytes} bytes`, "a shorter one");
      }
    }
    const bytes = new Uint8Array(this.view.buffer, this.view.byteOffset + begin, this.position - begin - 1);
    const text = String.fromCharCode(...bytes);
    if (/^[!-~]+$/.test(text)) return text;
    throw pickleRefusal("a name that is not printable ASCII", "one that is");
  }

  private advance(length: number): number {
    if (length > this.bytesLeft) throw this.tooShort(String(length));
    const begin = this.position;
    this.position += length;
    return begin;
  }

  private tooShort(length: string): Error {
    return pickleRefusal(`${this.bytesLeft} bytes left`, `${length}`);
  }
}
