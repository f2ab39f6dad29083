// A tokenizer with a token that the model does not know: the model itself fails on one text of a batch.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fixturePath } from "./fixtures.js";

/** Copies the tiny encoder into `folder` and adds a token `<poison>` without an embedding in the model. */
export function writePoisonable(folder: string): string {
  cpSync(fixturePath("tiny-encoder"), folder, { recursive: true });
  const tokenizer = JSON.parse(readFileSync(join(folder, "tokenizer.json"), "utf8"));
  const flags = { special: false, single_word: false, lstrip: false, rstrip: false, normalized: false };
  tokenizer.added_tokens.push({ id: 5000, content: "<poison>", ...flags });
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(tokenizer));
  return folder;
}
