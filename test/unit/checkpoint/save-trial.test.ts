// A place for a result is tried before the work, and nothing of the trial is left.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { trySaving } from "../../../src/checkpoint/save-trial.js";
import { rejection } from "../../support/refusal.js";

const folder = mkdtempSync(join(tmpdir(), "judge-trial-"));
after(() => rmSync(folder, { recursive: true }));

test("a folder that can be written stays as it is, and one that is missing stays missing", async () => {
  mkdirSync(join(folder, "there"));
  writeFileSync(join(folder, "there", "kept"), "x");
  await trySaving(join(folder, "there"));
  assert.deepEqual(readdirSync(join(folder, "there")), ["kept"]);
  await trySaving(join(folder, "new", "and", "deep"));
  assert.deepEqual(readdirSync(folder), ["there"]);
});

test("a file in its place, or on the way, is refused by the path", async () => {
  writeFileSync(join(folder, "file"), "x");
  for (const path of [join(folder, "file"), join(folder, "file", "judge")]) {
    const { message } = await rejection("usage", trySaving(path));
    assert.match(message, /^\/\S+ cannot be written \(E[A-Z]+\); give the path of a writable folder$/);
    assert.ok(message.startsWith(path));
  }
});
