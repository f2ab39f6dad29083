// Runs the compiled tests of the named suites (folders of test/) and exits non-zero when one fails or none
// ran. `--minutes N` is how long the soak may take, `--concurrency N` how many files run at a time.
import { readdirSync } from "node:fs";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const testRoot = new URL("../../../test/", import.meta.url);
const compiledRoot = new URL("../", import.meta.url);

/** Compiled files of the tests whose sources exist; what an earlier build left behind is not run. */
function testFiles(suite: string): string[] {
  const names = readdirSync(new URL(`${suite}/`, testRoot), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".test.ts"))
    .sort()
    .map((name) => fileURLToPath(new URL(`${suite}/${name.replace(/\.ts$/, ".js")}`, compiledRoot)));
}

const { values, positionals } = parseArgs({
  options: { minutes: { type: "string" }, concurrency: { type: "string", default: "2" } },
  allowPositionals: true,
});
if (values.minutes !== undefined) process.env.SOAK_MINUTES = values.minutes;
const files = positionals.flatMap(testFiles);
if (files.length === 0) throw new Error("no test file found; name suites, e.g. unit contract");
const stream = run({ files, concurrency: Number(values.concurrency), timeout: 600_000 });
stream.on("test:fail", () => {
  process.exitCode = 1;
});
stream.compose(new spec()).pipe(process.stdout);
