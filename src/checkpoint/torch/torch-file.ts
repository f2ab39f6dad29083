// A whole torch file → the value that its pickle holds, and a reader of its numbers. It knows no format.
import { FloatReader } from "./pickle/float-reader.js";
import type { PickleValue } from "./pickle/pickle-values.js";
import { readPickle } from "./pickle/read-pickle.js";
import { parseTorchZip } from "./zip/torch-zip.js";

export interface TorchFile {
  readonly root: PickleValue;
  readonly floats: FloatReader;
}

/** @throws JudgeError `checkpoint` for what torch-zip.ts or read-pickle.ts refuses */
export function parseTorchFile(file: Uint8Array): TorchFile {
  // subarray() and slice() of a Buffer are other functions
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
  const { pickle, storages } = parseTorchZip(bytes);
  return { root: readPickle(pickle, storages), floats: new FloatReader(bytes.byteLength) };
}
