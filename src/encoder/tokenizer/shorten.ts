// What every adapter does to texts before it tokenises them.
import { JudgeError } from "../../errors.js";
import type { View } from "../view.js";
import { cutCharacters } from "./truncate.js";

/** Joins runs of spaces where the view says so. Cuts huge texts before they travel, and marks them. */
export function shorten(texts: readonly string[], view: View) {
  const cuts = texts.map((text) => {
    return cutCharacters(view.spaces === "single" ? text.replace(/ {2,}/g, " ") : text, view);
  });
  return {
    texts: cuts.map((cut) => cut.text),
    flag: <T extends { readonly truncated: boolean }>(
      result: T | JudgeError,
      index: number,
    ): T | JudgeError =>
      result instanceof JudgeError || !cuts[index]!.cut ? result : { ...result, truncated: true },
  };
}
