// A file of a model that somebody fetched.
import type { WantedFile } from "../input/regular-file.js";

/** @param name of the file in messages */
export function wantedFile(path: string, name: string, maxBytes: number): WantedFile {
  return { path, name, maxBytes, code: "usage", remedy: "fetch it again from where it came" };
}
