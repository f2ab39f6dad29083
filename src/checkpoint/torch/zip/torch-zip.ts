// Reads the zip file that torch.save writes: one pickle and the storages of its tensors, all under CRC-32.
// The reader trusts no byte and copies none. It refuses a hole, an overlap, a repeated name and an entry that
// torch does not write, so that no other reader can see another file in the same bytes.
import { crc32 } from "node:zlib";
import { show } from "../../show.js";
import { zipRefusal } from "../torch-refusal.js";
import { readDirectory, type ZipDirectory, type ZipEntry } from "./zip-directory.js";

export interface TorchZip {
  /** the bytes of data.pkl */
  readonly pickle: Uint8Array;
  /** the bytes of data/KEY by key; views of the file */
  readonly storages: ReadonlyMap<string, Uint8Array>;
}

/** Larger files are refused. No head of a known encoder comes near. */
const maxFileBytes = 2 ** 30;
const headerBytes = 30;
const signatures = { header: 0x04034b50, descriptor: 0x08074b50 };
const entryNames =
  /^(?<folder>[^/\\]+)\/(?<file>data\.pkl|byteorder|version|\.format_version|\.storage_alignment|\.data\/serialization_id|data\/(?<key>0|[1-9]\d{0,8}))$/;

/** @throws JudgeError `checkpoint` for every file that is not exactly as torch.save writes it */
export function parseTorchZip(file: Uint8Array): TorchZip {
  if (file.byteLength > maxFileBytes) {
    throw zipRefusal(`a file of ${file.byteLength} bytes`, `at most ${maxFileBytes}`);
  }
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const directory = readDirectory(view);
  const files = new Map<string, Uint8Array>();
  const storages = new Map<string, Uint8Array>();
  const folder = splitName(directory.entries[0]?.name ?? "").folder;
  directory.entries.forEach((entry, index) => {
    const name = splitName(entry.name);
    if (name.folder !== folder) {
      throw zipRefusal(`entries in the folders ${show(folder)} and ${show(name.folder)}`, "one folder");
    }
    if (files.has(name.file)) throw zipRefusal(`the entry ${show(entry.name)} twice`, "it once");
    const content = readEntry(view, directory, index);
    files.set(name.file, content);
    if (name.key !== null) storages.set(name.key, content);
  });
  checkFormat(files);
  const pickle = files.get("data.pkl");
  if (pickle === undefined) throw zipRefusal("no entry data.pkl", "a file that torch.save wrote");
  return { pickle, storages };
}

function splitName(name: string): { folder: string; file: string; key: string | null } {
  const { folder, file, key } = entryNames.exec(name)?.groups ?? {};
  if (folder === undefined || file === undefined || folder === "." || folder === "..") {
    throw zipRefusal(
      `the entry ${show(name)}`,
      "NAME/data.pkl, NAME/data/0 … and their like",
      "use a file that torch.save wrote",
    );
  }
  return { folder, file, key: key ?? null };
}

/** The bytes of an entry. Its header, its place and its checksum are checked first. */
function readEntry(view: DataView, { entries, begin }: ZipDirectory, index: number): Uint8Array {
  const entry = entries[index]!;
  const end = entries[index + 1]?.begin ?? begin;
  // each entry begins where the last one ends, so none overlaps and none is hidden
  if (index === 0 && entry.begin !== 0) throw zipRefusal("bytes before the first entry", "none");
  if (end > begin) throw zipRefusal(`the entry ${show(entry.name)} in the directory`, "it before");
  const dataBegin = checkHeader(view, entry, end);
  const dataEnd = dataBegin + entry.size;
  if (dataEnd > end) throw zipRefusal(`the entry ${show(entry.name)} past its end`, "no overlap");
  checkDescriptor(view, entry, dataEnd, end);
  const content = new Uint8Array(view.buffer, view.byteOffset + dataBegin, entry.size);
  if (crc32(content) !== entry.crc) {
    throw zipRefusal(`the entry ${show(entry.name)} with another CRC-32 than its own`, "it unchanged");
  }
  return content;
}

/** Demands that the header of an entry agrees with the directory; returns the offset behind it. */
function checkHeader(view: DataView, entry: ZipEntry, end: number): number {
  const { begin, nameBegin, nameLength, flags, crc, size } = entry;
  if (begin + headerBytes + nameLength > end || view.getUint32(begin, true) !== signatures.header) {
    throw zipRefusal(`no header of ${show(entry.name)} at byte ${begin}`, "one");
  }
  const sizes = [14, 18, 22].map((offset) => view.getUint32(begin + offset, true)).join();
  const isLater = (flags & 8) !== 0 && sizes === "0,0,0";
  const nameOf = (place: number) => new Uint8Array(view.buffer, view.byteOffset + place, nameLength);
  const [wantedName, foundName] = [nameOf(nameBegin), nameOf(begin + headerBytes)];
  const agrees =
    view.getUint16(begin + 6, true) === flags &&
    view.getUint16(begin + 8, true) === 0 &&
    view.getUint16(begin + 26, true) === nameLength &&
    foundName.every((byte, index) => byte === wantedName[index]) &&
    (isLater || sizes === [crc, size, size].join());
  if (!agrees) throw zipRefusal(`two headers of ${show(entry.name)} that do not agree`, "them to");
  return begin + headerBytes + nameLength + view.getUint16(begin + 28, true);
}

/** Demands that only the checksum and sizes that a flag announces lie behind an entry. */
function checkDescriptor(view: DataView, { name, flags, crc, size }: ZipEntry, begin: number, end: number) {
  const length = end - begin;
  const wanted = (flags & 8) === 0 ? [0] : [16, 24];
  if (!wanted.includes(length)) {
    throw zipRefusal(`${length} bytes behind the entry ${show(name)}`, `${wanted.join(" or ")}: a hole`);
  }
  if (length === 0) return;
  const read = (offset: number) =>
    length === 16 ? view.getUint32(begin + offset, true) : Number(view.getBigUint64(begin + offset, true));
  const sizes = length === 16 ? [read(8), read(12)] : [read(8), read(16)];
  const agrees =
    view.getUint32(begin, true) === signatures.descriptor &&
    view.getUint32(begin + 4, true) === crc &&
    sizes.every((found) => found === size);
  if (!agrees) throw zipRefusal(`two sizes of ${show(name)} that do not agree`, "them to");
}

function checkFormat(files: ReadonlyMap<string, Uint8Array>): void {
  const text = (name: string) => {
    const content = files.get(name);
    return content && String.fromCharCode(...content.subarray(0, 20)).trim();
  };
  const version = text("version");
  if (version !== "3") throw zipRefusal(`version ${show(version ?? "")}`, "3");
  // torch before 2.1 did not write it, and ran on little-endian machines
  const order = text("byteorder") ?? "little";
  if (order !== "little") {
    throw zipRefusal(`the byte order ${show(order)}`, "little", "save it again on a common machine");
  }
}
