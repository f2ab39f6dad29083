// Finds the line of a key in a TOML text, for messages. It knows [table] headers and `key =` lines. For a key
// that is written in another way (dotted keys, inline tables), it gives the line of the nearest table around
// the key.

/**
 * The line of the key at `path`, or else of the innermost table on the way to it; counted from 1.
 * @param path table names and the key, such as ["routes", "auto", "mode"]
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

/** The text with its """ and ''' strings emptied; every line keeps its number. */
function withoutLongStrings(text: string): string {
  return text.replace(/("""|''')[\s\S]*?\1/g, (string) => `""${"\n".repeat(string.split("\n").length - 1)}`);
}

/** The number of lists that this line leaves open. @param isEntry whether it is part of a list already */
function unclosedBrackets(line: string, isEntry: boolean): number {
  const code = line.replace(/"(?:\\.|[^"\\])*"|'[^']*'|#.*$/g, "");
  const value = isEntry ? code : /=(.*)$/.exec(code)?.[1];
  return value === undefined ? 0 : value.split("[").length - value.split("]").length;
}
