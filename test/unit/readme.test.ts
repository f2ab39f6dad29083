// What README tells a reader to paste is what the program prints and takes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
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
import { readmeBlocks, readmeRoutes } from "../support/readme.js";

const readme = readFileSync(packagePath("README.md"), "utf8");
const config = loadConfig({ env: {}, flags: {}, packageRoot: packagePath("") });
const url = baseUrl(config.server.host, config.server.port);

test("its routes.toml is the one that `routes` prints", () => {
  assert.ok(readmeBlocks("toml").includes(routesToml(config, url)));
});

test("its first curl is the one that `serve` prints", () => {
  assert.ok(readmeBlocks("sh").some((block) => block.trim() === curlLine(url, "prefill-judge")));
});

test("its route of custom mode is the one that `routes` prints for its table", () => {
  const table = readmeBlocks("toml").find((block) => block.startsWith("[judges.prefill-judge.custom]"))!;
  const printed = routesToml(parseConfig(table), url);
  assert.equal(printed.slice(printed.indexOf("[routes.auto]")), readmeRoutes('mode = "custom"'));
});

test("its configurations pass the schema", () => {
  const configurations = readmeBlocks("toml").filter((block) => !/llm_clients|^\[routes/m.test(block));
  assert.ok(configurations.length >= 2);
  const schema = configSchema({ base: "/", env: {}, encoderIds: [] });
  for (const block of configurations) {
    const content = parseToml(block) as { server?: Record<string, unknown> };
    refuseUnknownKeys(schema, ["README", content]);
    // the files of keys are the reader's
    for (const key of ["api_keys_file", "admin_key_file"]) delete content.server?.[key];
    const issues = schema.safeParse(content).error?.issues ?? [];
    // a block shows a part of a file
    const wrong = issues.filter(({ code, message }) => !message.startsWith(missing) && code !== "custom");
    assert.deepEqual(wrong, [], block);
  }
});

test("it names every flag, and every dependency with its reason", () => {
  for (const { flag } of settings) assert.ok(readme.includes(`\`${flag}\``), flag);
  const { dependencies } = readJson<{ dependencies: Record<string, string> }>(packagePath("package.json"));
  for (const name of Object.keys(dependencies))
    assert.match(readme, new RegExp(`^\\|.*\`${name}\`.*\\|`, "m"), name);
});

test("its set-up commands are two", () => {
  const setUp = readmeBlocks("sh").filter((block) => /^npm (ci|test)\b/.test(block));
  assert.deepEqual(setUp, ["npm ci && npm start\n", "npm test\n"]);
});
