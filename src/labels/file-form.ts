// What form a file that a user names is of: by its ending in any letter case, or by its first character.

/** Whether the name is that of a file of JSON lines. */
export function isJsonLines(path: string): boolean {
  return /\.(jsonl|ndjson|jsonlines)$/i.test(path);
}

/** Whether the text starts as a JSON object does, which neither TOML nor CSV with a header of names can. */
export function startsAsObject(text: string): boolean {
  return /^\s*\{/.test(text);
}
