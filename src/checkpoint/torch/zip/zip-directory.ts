// Reads the directory of a zip file as torch.save writes it: stored entries, directory, zip64 end record, end
// record. Every length and offset is checked against the file before it is followed. It reads no entry.
import { show } from "../../show.js";
import { zipRefusal } from "../torch-refusal.js";

/** One entry as the directory describes it. */
export interface ZipEntry {
  readonly name: string;
  /** offset of the name's bytes in the directory */
  readonly nameBegin: number;
  readonly nameLength: number;
  readonly flags: number;
  readonly crc: number;
  readonly size: number;
  /** offset of the entry's own header */
  readonly begin: number;
}

export interface ZipDirectory {
  readonly entries: readonly ZipEntry[];
  /** offset of the directory: the entries end here */
  readonly begin: number;
}

/** Many times what a large head has. */
const maxEntries = 10_000;
const maxNameBytes = 512;
const endBytes = 22;
const zip64LocatorBytes = 20;
const zip64EndBytes = 56;
const entryBytes = 46;
const signatures = { entry: 0x02014b50, end: 0x06054b50, zip64End: 0x06064b50, zip64Locator: 0x07064b50 };
/** Bit 3: the sizes also stand behind the entry. Bit 11: the name is UTF-8. No other flag occurs. */
const knownFlags = 0x0808;

/** @throws JudgeError `checkpoint` for anything but a directory as torch.save writes it */
export function readDirectory(view: DataView): ZipDirectory {
  const { count, begin, end } = readEnd(view);
  const entries: ZipEntry[] = [];
  let place = begin;
  for (let index = 0; index < count; index++) {
    const { entry, next } = readEntry(view, place, end);
    entries.push(entry);
    place = next;
  }
  if (place !== end) {
    throw zipRefusal(`a directory of ${place - begin} bytes`, `the ${end - begin} it is said to have`);
  }
  return { entries, begin };
}

/** Where the directory lies. Both end records must agree on it, if there are two. */
function readEnd(view: DataView): { count: number; begin: number; end: number } {
  const place = view.byteLength - endBytes;
  if (place < 0 || view.getUint32(place, true) !== signatures.end) {
    throw zipRefusal(
      "no end record in the last 22 bytes",
      "a zip file as torch.save writes it",
      "restore the file from its original; one of torch before 1.6 must be saved again",
    );
  }
  const count = view.getUint16(place + 10, true);
  const size = view.getUint32(place + 12, true);
  const begin = view.getUint32(place + 16, true);
  if (view.getUint32(place + 4, true) !== 0 || view.getUint16(place + 8, true) !== count) {
    throw zipRefusal("a part of a zip file in several parts", "it in one");
  }
  if (view.getUint16(place + 20, true) !== 0) throw zipRefusal("a comment", "none");
  if (count > maxEntries) throw zipRefusal(`${count} entries`, `at most ${maxEntries}`);
  const hasZip64 =
    place >= zip64LocatorBytes && view.getUint32(place - zip64LocatorBytes, true) === signatures.zip64Locator;
  const end = hasZip64 ? checkZip64End(view, place - zip64LocatorBytes, [count, size, begin]) : place;
  if (begin + size !== end) {
    throw zipRefusal(`a directory from ${begin} to ${begin + size}`, `it to end at ${end}`);
  }
  return { count, begin, end };
}

/** Demands that the zip64 end record says what the end record says; returns its offset. */
function checkZip64End(view: DataView, locator: number, wanted: readonly number[]): number {
  const place = locator - zip64EndBytes;
  const read = (offset: number) => Number(view.getBigUint64(place + offset, true));
  const agrees =
    place >= 0 &&
    view.getUint32(locator + 4, true) === 0 &&
    Number(view.getBigUint64(locator + 8, true)) === place &&
    view.getUint32(locator + 16, true) === 1 &&
    view.getUint32(place, true) === signatures.zip64End &&
    read(4) === zip64EndBytes - 12 &&
    view.getUint32(place + 16, true) === 0 &&
    view.getUint32(place + 20, true) === 0 &&
    read(24) === wanted[0] &&
    [read(32), read(40), read(48)].join() === wanted.join();
  if (!agrees) throw zipRefusal("two end records that do not agree", "them to");
  return place;
}

function readEntry(view: DataView, place: number, end: number): { entry: ZipEntry; next: number } {
  if (place + entryBytes > end || view.getUint32(place, true) !== signatures.entry) {
    throw zipRefusal(`no entry at byte ${place} of the directory`, "one");
  }
  const nameLength = view.getUint16(place + 28, true);
  const next = place + entryBytes + nameLength + view.getUint16(place + 30, true);
  if (next > end) throw zipRefusal("an entry that reaches past the directory", "it inside");
  if (nameLength > maxNameBytes) {
    throw zipRefusal(`a name of ${nameLength} bytes`, `at most ${maxNameBytes}`);
  }
  const nameBegin = place + entryBytes;
  const name = decodeName(new Uint8Array(view.buffer, view.byteOffset + nameBegin, nameLength));
  const flags = view.getUint16(place + 8, true);
  const method = view.getUint16(place + 10, true);
  const size = view.getUint32(place + 24, true);
  if (flags & 1) throw zipRefusal(`the entry ${show(name)} encrypted`, "it plain");
  if (flags & ~knownFlags) throw zipRefusal(`flags ${flags} of ${show(name)}`, "none but 2056");
  if (method !== 0 || view.getUint32(place + 20, true) !== size) {
    throw zipRefusal(
      `the entry ${show(name)} compressed`,
      "it stored",
      "unpack it and save it with torch.save",
    );
  }
  if (view.getUint16(place + 32, true) !== 0 || view.getUint16(place + 34, true) !== 0) {
    throw zipRefusal(`a comment or a part number at ${show(name)}`, "none");
  }
  const crc = view.getUint32(place + 16, true);
  const begin = view.getUint32(place + 42, true);
  return { entry: { name, nameBegin, nameLength, flags, crc, size, begin }, next };
}

function decodeName(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw zipRefusal("a name that is not UTF-8", "UTF-8");
  }
}
