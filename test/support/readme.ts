// The blocks of README that a reader pastes.
import { readFileSync } from "node:fs";
import { packagePath } from "./fixtures.js";

const readme = readFileSync(packagePath("README.md"), "utf8");

/** The fenced blocks of a language, in order. */
export function readmeBlocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    (match) => match[1]!,
  );
}

/** The block that begins with a route and has that line, without clients and targets. */
export function readmeRoutes(line: string): string {
  const found = readmeBlocks("toml").find(
    (block) => block.startsWith("[routes.auto]") && block.includes(`\n${line}\n`),
  );
  if (found === undefined) throw new Error(`README shows no route with ${line}`);
  return found;
}
