// The bytes that run are those of the text that people read.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { packagePath } from "../../support/fixtures.js";
import { wasmBytes } from "../../support/wasm-bytes.js";

test("bytes.ts holds what the .wat files give", async () => {
  const remedy = "make it anew: node dist/test/support/wasm-bytes.js > src/wasm/bytes.ts";
  assert.equal(readFileSync(packagePath("src/wasm/bytes.ts"), "utf8"), await wasmBytes(), remedy);
});
