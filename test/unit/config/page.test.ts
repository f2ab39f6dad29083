// docs/configuration.md is what the schema gives.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as z from "zod";
import { configSchema } from "../../../src/config/schema.js";
import { bare, metaOf, settingsOf } from "../../../src/config/schema-walk.js";
import { configurationPage } from "../../support/configuration-page.js";
import { packagePath } from "../../support/fixtures.js";

test("the page is made from the schema that is there", () => {
  const page = readFileSync(packagePath("docs/configuration.md"), "utf8");
  const remedy = "make it anew: node dist/test/support/configuration-page.js > docs/configuration.md";
  assert.equal(page, configurationPage(), remedy);
});

test("it has every setting", () => {
  const keys = new Set<string>();
  const visit = (schema: unknown) => {
    const found = bare(schema);
    if (found instanceof z.ZodRecord) visit(found.valueType);
    if (found instanceof z.ZodArray) visit(found.element);
    for (const [key, setting] of Object.entries(settingsOf(found) ?? {})) {
      if (settingsOf(setting) === null && metaOf(setting) !== undefined) keys.add(key);
      visit(setting);
    }
  };
  visit(configSchema({ base: "/", env: {}, encoderIds: [] }));
  assert.ok(keys.size > 50, `${keys.size}`);
  for (const key of keys) assert.ok(configurationPage().includes(`| \`${key}\` |`), key);
});

test("every setting of every table says what it is", () => {
  const silent = configurationPage().match(/^\| `\w+` \|\s+\|/m);
  assert.equal(silent, null);
});
