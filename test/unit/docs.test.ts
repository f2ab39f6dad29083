// What README and docs/ tell a reader to paste is what the program prints and takes; what they link to is
// there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { parse as parseToml } from "smol-toml";
import { curlLine, routesToml } from "../../src/cli/routes/routes-text.js";
import { baseUrl } from "../../src/config/base-url.js";
import { loadConfig } from "../../src/config/config.js";
import { refuseUnknownKeys } from "../../src/config/explain.js";
import { configSchema } from "../../src/config/schema.js";
import { settings } from "../../src/config/settings.js";
import { missing } from "../../src/input/settings-table.js";
import { packagePath, readJson } from "../support/fixtures.js";
import { parseConfig } from "../support/judge-server.js";
import { docBlocks, docRoutes, pages } from "../support/pages.js";

const readme = pages.get("README.md")!;
const config = loadConfig({ env: {}, flags: {}, packageRoot: packagePath("") });
const url = baseUrl(config.server.host, config.server.port);

test("the routes.toml is the one that `routes` prints", () => {
  assert.ok(docBlocks("toml").includes(routesToml(config, url)));
});

test("the first curl is the one that `serve` prints", () => {
  assert.ok(docBlocks("sh", readme).some((block) => block.trim() === curlLine(url, "prefill-judge", false)));
});

test("the route of custom mode is the one that `routes` prints for its table", () => {
  const table = docBlocks("toml").find((block) => block.startsWith("[judges.prefill-judge.custom]"))!;
  const printed = routesToml(parseConfig(table), url);
  assert.equal(printed.slice(printed.indexOf("[routes.auto]")), docRoutes('mode = "custom"'));
});

test("the configurations pass the schema", () => {
  const configurations = docBlocks("toml").filter((block) => !/llm_clients|^\[routes/m.test(block));
  assert.ok(configurations.length >= 2);
  const schema = configSchema({ base: "/", env: {}, encoderIds: [] });
  for (const block of configurations) {
    const content = parseToml(block) as { server?: Record<string, unknown> };
    refuseUnknownKeys(schema, ["a page", content]);
    // the files of keys are the reader's
    for (const key of ["api_keys_file", "admin_key_file"]) delete content.server?.[key];
    const issues = schema.safeParse(content).error?.issues ?? [];
    // a block shows a part of a file
    const wrong = issues.filter(({ code, message }) => !message.startsWith(missing) && code !== "custom");
    assert.deepEqual(wrong, [], block);
  }
});

test("every flag is described, and every dependency has its reason", () => {
  for (const { flag } of settings)
    assert.ok(pages.get("docs/configuration.md")!.includes(`\`${flag}\``), flag);
  const { dependencies } = readJson<{ dependencies: Record<string, string> }>(packagePath("package.json"));
  for (const name of Object.keys(dependencies))
    assert.match(pages.get("docs/architecture.md")!, new RegExp(`^\\|.*\`${name}\`.*\\|`, "m"), name);
});

test("the set-up commands are two", () => {
  const setUp = docBlocks("sh").filter((block) => /^npm (ci|test)\b/.test(block));
  assert.deepEqual(setUp, ["npm ci && npm start\n", "npm test\n"]);
});

test("README has at most 170 lines", () => {
  assert.ok(readme.split("\n").length <= 171);
});

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

for (const [path, text] of pages) {
  test(`every link of ${path} leads somewhere`, () => {
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target!)) continue;
      const [file, anchor] = target!.split("#") as [string, string | undefined];
      const found = file === "" ? path : posix.join(posix.dirname(path), file);
      assert.ok(existsSync(packagePath(found)), `${target}: there is no ${found}`);
      if (anchor === undefined) continue;
      const linked = readFileSync(packagePath(found), "utf8");
      assert.ok(anchorsOf(linked).includes(anchor), `${target}: ${found} has no such heading`);
    }
  });
}

test("the commands of the pages are commands of the program, with options that it has", () => {
  const lines = docBlocks("sh").flatMap((block) => block.split("\n"));
  const commands = lines.filter((line) => /^npx prefill-judge /.test(line));
  assert.ok(commands.length >= 15, `${commands.length}`);
  const help = new Map<string, string>();
  for (const line of commands) {
    const words = line
      .replace(/\s+#.*$/, "")
      .split(/\s+/)
      .slice(2);
    const isSecond = words[0] === "encoder" || (words[0] === "routes" && words[1] === "check");
    const deep = words[0] === "labels" ? 3 : isSecond ? 2 : 1;
    const command = words.slice(0, deep).join(" ");
    if (!help.has(command)) help.set(command, helpOf(command.split(" ")));
    for (const option of words.filter((word) => word.startsWith("--")))
      assert.match(help.get(command)!, new RegExp(`${option}\\b`), line);
  }
});

function helpOf(command: readonly string[]): string {
  return execFileSync(process.execPath, [packagePath("dist/src/main.js"), ...command, "--help"], {
    encoding: "utf8",
  });
}
