// README and the pages of docs/: their text, and the blocks that a reader pastes.
import { readdirSync, readFileSync } from "node:fs";
import { packagePath } from "./fixtures.js";

/** text by path from the top folder, README first */
export const pages: ReadonlyMap<string, string> = new Map(
  [
    ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"],
    ...readdirSync(packagePath("docs"))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`),
  ].map((path) => [path, readFileSync(packagePath(path), "utf8")]),
);

/** The fenced blocks of a language, page by page. */
export function docBlocks(language: string, text = [...pages.values()].join("\n")): string[] {
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
  return blocks.filter(([, found]) => found === language).map(([, , block]) => block!);
}

/** The block that begins with a route and has that line, without clients and targets. */
export function docRoutes(line: string): string {
  const found = docBlocks("toml").find(
    (block) => block.startsWith("[routes.auto]") && block.includes(`\n${line}\n`),
  );
  if (found === undefined) throw new Error(`docs show no route with ${line}`);
  return found;
}
