// Bearer keys from a file or from the environment. No message holds a key.
import { JudgeError } from "../errors.js";
import { decodeText } from "../input/decode-text.js";
import { readRegularFileSync } from "../input/regular-file.js";

const maxFileBytes = 4 * 2 ** 20;

/**
 * Bearer keys from a file: one a line; blank lines and lines that start with # are left out.
 * @throws JudgeError `config`; a message never holds a key
 */
export function readKeysFile(setting: string, file: string): string[] {
  const bytes = readRegularFileSync({
    path: file,
    name: `${setting}: ${file}`,
    code: "config",
    remedy: "name a readable file",
    maxBytes: maxFileBytes,
  });
  const text = decodeText(bytes, file, "config");
  const lines = text.split("\n").map((line) => line.trim());
  return checkKeys(
    file,
    lines.filter((line) => line !== "" && !line.startsWith("#")),
  );
}

/** Bearer keys from the environment, separated by commas; none where the variable is not set. */
export function readKeysVariable(name: string, value: string | undefined): string[] {
  if (value === undefined) return [];
  const keys = value.split(",").map((key) => key.trim());
  return checkKeys(
    name,
    keys.filter((key) => key !== ""),
  );
}

/** What no client sends as a part of its key: it came in by a copy, an editor or a shell. */
const strayInKeys: readonly (readonly [RegExp, string])[] = [
  [/\s/, "holds white space; write one key a line, or separate keys by commas"],
  [/\p{Cc}|\p{Cf}|\p{Default_Ignorable_Code_Point}/u, "holds a character that cannot be seen; type it anew"],
  [/\uFFFD/, "is not UTF-8; save it as UTF-8"],
  [/^(["'`]).*\1$/, "stands in quotes, which would be a part of it; take them off"],
];

/** A source of keys that holds none would leave the server open to all. */
function checkKeys(source: string, keys: string[]): string[] {
  if (keys.length === 0)
    throw new JudgeError("config", {
      found: `${source} holds no key`,
      remedy: "write one, or leave the setting out",
    });
  for (const [stray, finding] of strayInKeys) {
    if (keys.some((key) => stray.test(key)))
      throw new JudgeError("config", { found: `${source}: a key ${finding}` });
  }
  return keys;
}
