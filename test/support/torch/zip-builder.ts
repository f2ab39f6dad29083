// Writes zip files for the tests of the readers. By default they are as torch.save writes them.
import { crc32 } from "node:zlib";

export interface ZipPart {
  readonly name: string | Uint8Array;
  readonly data: Uint8Array;
  /** replace fields of both headers, of the directory's header only, or of the entry's header only */
  readonly both?: Partial<HeaderFields>;
  readonly central?: Partial<HeaderFields>;
  readonly local?: Partial<HeaderFields>;
  /** the bytes between this entry and the next; absent: those that the flags ask for */
  readonly behind?: Uint8Array;
}

interface HeaderFields {
  flags: number;
  method: number;
  crc: number;
  compressedSize: number;
  size: number;
  /** the offset that the directory gives */
  begin: number;
  name: string | Uint8Array;
  commentLength: number;
  disk: number;
}

export interface ZipEnd {
  readonly count?: number;
  readonly size?: number;
  readonly begin?: number;
  readonly comment?: string;
  readonly zip64?: "none" | "right" | "other count" | "other place";
}

export const text = (value: string): Uint8Array => new TextEncoder().encode(value);

/** Little-endian integers, each given as `[bytes, value]`. */
export function packed(...fields: readonly (readonly [bytes: 1 | 2 | 4 | 8, value: number])[]): Uint8Array {
  const bytes = new Uint8Array(fields.reduce((sum, [size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let place = 0;
  for (const [size, value] of fields) {
    if (size === 1) view.setUint8(place, value);
    else if (size === 2) view.setUint16(place, value, true);
    else if (size === 4) view.setUint32(place, value, true);
    else view.setBigUint64(place, BigInt(value), true);
    place += size;
  }
  return bytes;
}

export function zipOf(parts: readonly ZipPart[], end: ZipEnd = {}): Uint8Array {
  const entries: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const part of parts) {
    const written = entryOf(part, offset);
    entries.push(...written.entry);
    directory.push(...written.directory);
    offset += written.entry.reduce((sum, bytes) => sum + bytes.length, 0);
  }
  const size = directory.reduce((sum, bytes) => sum + bytes.length, 0);
  return Buffer.concat([...entries, ...directory, ...endOf(parts.length, size, offset, end)]);
}

function entryOf(part: ZipPart, begin: number): { entry: Uint8Array[]; directory: Uint8Array[] } {
  const crc = crc32(part.data);
  const size = part.data.length;
  const plain: HeaderFields = {
    flags: 0x0808,
    method: 0,
    crc,
    compressedSize: size,
    size,
    begin,
    name: part.name,
    commentLength: 0,
    disk: 0,
    ...part.both,
  };
  const central = { ...plain, ...part.central };
  const later = (plain.flags & 8) !== 0 ? { crc: 0, compressedSize: 0, size: 0 } : {};
  const local = { ...plain, ...later, ...part.local };
  const nameOf = (name: string | Uint8Array) => (typeof name === "string" ? text(name) : name);
  const [localName, centralName] = [nameOf(local.name), nameOf(central.name)];
  const fieldsOf = ({ flags, method, crc, compressedSize, size }: HeaderFields) =>
    packed([2, 0], [2, flags], [2, method], [4, 0], [4, crc], [4, compressedSize], [4, size]);
  const padding = text("FB\x03\0ZZZ");
  const behind =
    part.behind ??
    ((plain.flags & 8) !== 0 ? packed([4, 0x08074b50], [4, crc], [4, size], [4, size]) : new Uint8Array(0));
  return {
    entry: [
      packed([4, 0x04034b50]),
      fieldsOf(local),
      packed([2, localName.length], [2, padding.length]),
      localName,
      padding,
      part.data,
      behind,
    ],
    directory: [
      packed([4, 0x02014b50], [2, 0]),
      fieldsOf(central),
      packed([2, centralName.length], [2, 0], [2, central.commentLength], [2, central.disk]),
      packed([2, 0], [4, 0], [4, central.begin]),
      centralName,
    ],
  };
}

function endOf(parts: number, directorySize: number, directoryBegin: number, end: ZipEnd): Uint8Array[] {
  const { count = parts, size = directorySize, begin = directoryBegin, comment = "", zip64 = "right" } = end;
  const place = directoryBegin + directorySize;
  const count64 = zip64 === "other count" ? count + 1 : count;
  const zip64End = packed(
    ...([
      [4, 0x06064b50],
      [8, 44],
      [2, 0x031e],
      [2, 45],
      [4, 0],
      [4, 0],
      [8, count64],
      [8, count64],
    ] as const),
    ...([
      [8, size],
      [8, begin],
    ] as const),
  );
  const locator = packed([4, 0x07064b50], [4, 0], [8, zip64 === "other place" ? place - 1 : place], [4, 1]);
  const record = packed(
    [4, 0x06054b50],
    [4, 0],
    [2, count],
    [2, count],
    [4, size],
    [4, begin],
    [2, comment.length],
  );
  return [...(zip64 === "none" ? [] : [zip64End, locator]), record, text(comment)];
}
