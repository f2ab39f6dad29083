// Comments obey the formatter's width, which the formatter itself does not see to.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { packagePath, readJson } from "../support/fixtures.js";

const { formatter } = readJson<{ formatter: { lineWidth: number } }>(packagePath(".biome.json"));

test("no comment line is wider than a line of code may be", () => {
  const files = ["src", "test"].flatMap((folder) =>
    readdirSync(packagePath(folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => `${folder}/${name}`),
  );
  assert.ok(files.length > 400, `${files.length}`);
  const wide = files.flatMap((file) =>
    readFileSync(packagePath(file), "utf8")
      .split("\n")
      .flatMap((line, index) =>
        /^\s*(\/\/|\/?\*)/.test(line) && line.length > formatter.lineWidth ? [`${file}:${index + 1}`] : [],
      ),
  );
  assert.deepEqual(wide, []);
});
