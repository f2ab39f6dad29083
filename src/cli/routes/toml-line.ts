// Where a key stands in a TOML text, for messages. Finds [table] headers and `key =` lines; what is written another way
// (dotted keys, inline tables) is found by the nearest table around it.

/**
 * The line of the key at `path`, else of the innermost table on the way to it; counted from 1.
 *
 * @param path table names and the key, e.g. ["routes", "auto", "mode"]
 */
export function lineOf(text: string, path: readonly string[]): number {
  let best = { depth: 0, line: 1 };
  let table: string[] = [];
  let openBrackets = 0;
  withoutLongStrings(text)
    .split("\n")
    .forEach((line, index) => {
      const isEntry = openBrackets > 0;
      openBrackets = Math.max(0, openBrackets + unclosedBrackets(line, isEntry));
      if (isEntry) return;
      const header = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1];
      const key = /^\s*("[^"]*"|'[^']*'|[\w-]+)\s*=/.exec(line)?.[1];
      if (header !== undefined) table = names(header);
      else if (key === undefined) return;
      const found = header !== undefined ? table : [...table, ...names(key!)];
      const matches = found.length <= path.length && found.every((name, depth) => name === path[depth]);
      if (matches && found.length > best.depth) best = { depth: found.length, line: index + 1 };
    });
  return best.line;
}

function names(dotted: string): string[] {
  return [...dotted.matchAll(/"([^"]*)"|'([^']*)'|([\w-]+)/g)].map(
    (match) => match[1] ?? match[2] ?? match[3]!,
  );
}

/** The text with its """ and ''' strings emptied, line by line. */
function withoutLongStrings(text: string): string {
  return text.replace(/("""|''')[\s\S]*?\1/g, (string) => `""${"\n".repeat(string.split("\n").length - 1)}`);
}

/** How many lists of a `key = [` line, or of an entry within one, are still open at its end. */
function unclosedBrackets(line: string, isEntry: boolean): number {
  const code = line.replace(/"(?:\\.|[^"\\])*"|'[^']*'|#.*$/g, "");
  const value = isEntry ? code : /=(.*)$/.exec(code)?.[1];
  return value === undefined ? 0 : value.split("[").length - value.split("]").length;
}
