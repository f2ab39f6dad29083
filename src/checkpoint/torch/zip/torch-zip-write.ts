// Writes a zip file as torch.save does: entries are stored, and the bytes of each begin at a multiple of 64.
import { crc32 } from "node:zlib";

/** torch maps storages into memory and needs their bytes aligned. */
const alignment = 64;
const utf8Names = 0x0800;
/** 1980-01-01, the first day of the zip format. A fixed date gives the same file for the same content. */
const date = 0x0021;
const encoder = new TextEncoder();

/**
 * @param root the folder that all entries lie in
 * @param entries name within the root and bytes, in order
 */
export function writeTorchZip(
  root: string,
  entries: readonly (readonly [name: string, bytes: Uint8Array])[],
): Uint8Array {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  const push = (part: Uint8Array) => {
    parts.push(part);
    offset += part.byteLength;
  };
  for (const [name, bytes] of entries) {
    const path = encoder.encode(`${root}/${name}`);
    const facts = { path, size: bytes.byteLength, crc: crc32(bytes), begin: offset };
    push(localHeader(facts));
    push(bytes);
    directory.push(directoryEntry(facts));
  }
  const begin = offset;
  for (const entry of directory) push(entry);
  push(endRecord(entries.length, offset - begin, begin));
  const file = new Uint8Array(offset);
  let place = 0;
  for (const part of parts) {
    file.set(part, place);
    place += part.byteLength;
  }
  return file;
}

interface EntryFacts {
  readonly path: Uint8Array;
  readonly size: number;
  readonly crc: number;
  /** offset of the local header */
  readonly begin: number;
}

function localHeader({ path, size, crc, begin }: EntryFacts): Uint8Array {
  const fixed = 30;
  // an extra field "FB" of filler moves the bytes to their place; the header of that field takes 4 bytes
  const filler = (alignment - ((begin + fixed + path.length + 4) % alignment)) % alignment;
  const header = new Uint8Array(fixed + path.length + 4 + filler);
  const view = new DataView(header.buffer);
  view.setUint32(0, 0x04034b50, true);
  view.setUint16(6, utf8Names, true);
  view.setUint16(12, date, true);
  view.setUint32(14, crc, true);
  view.setUint32(18, size, true);
  view.setUint32(22, size, true);
  view.setUint16(26, path.length, true);
  view.setUint16(28, 4 + filler, true);
  header.set(path, fixed);
  const extra = fixed + path.length;
  header.set(encoder.encode("FB"), extra);
  view.setUint16(extra + 2, filler, true);
  header.fill(encoder.encode("Z")[0]!, extra + 4);
  return header;
}

function directoryEntry({ path, size, crc, begin }: EntryFacts): Uint8Array {
  const fixed = 46;
  const entry = new Uint8Array(fixed + path.length);
  const view = new DataView(entry.buffer);
  view.setUint32(0, 0x02014b50, true);
  view.setUint16(8, utf8Names, true);
  view.setUint16(14, date, true);
  view.setUint32(16, crc, true);
  view.setUint32(20, size, true);
  view.setUint32(24, size, true);
  view.setUint16(28, path.length, true);
  view.setUint32(42, begin, true);
  entry.set(path, fixed);
  return entry;
}

function endRecord(count: number, size: number, begin: number): Uint8Array {
  const record = new Uint8Array(22);
  const view = new DataView(record.buffer);
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(8, count, true);
  view.setUint16(10, count, true);
  view.setUint32(12, size, true);
  view.setUint32(16, begin, true);
  return record;
}
