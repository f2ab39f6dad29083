// A whole torch file → the dict it holds and a reader of its numbers. What the dict means is the formats'.

import { Fields } from "./pickle/fields.js";
import { FloatReader } from "./pickle/float-reader.js";
import type { PickleValue } from "./pickle/pickle-values.js";
import { readPickle } from "./pickle/read-pickle.js";
import { parseTorchZip } from "./zip/torch-zip.js";

export interface TorchFile {
  readonly root: PickleValue;
  readonly floats: FloatReader;
}

/** @throws JudgeError `checkpoint` for what torch-zip.ts or pickle.ts refuse */
export function parseTorchFile(file: Uint8Array): TorchFile {
  // of a Buffer, subarray() and slice() are other functions
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
  const { pickle, storages } = parseTorchZip(bytes);
  return { root: readPickle(pickle, storages), floats: new FloatReader(bytes.byteLength) };
}

/** The root as a dict, for the format of this name. */
export function rootOf({ root }: TorchFile, format: string): Fields {
  return Fields.of(root, format);
}
