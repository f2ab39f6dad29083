import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { wholePath } from "../../../src/config/whole-path.js";
import { refusal } from "../../support/refusal.js";

test("a relative path starts from the base, a whole one stays", () => {
  assert.equal(wholePath("/etc/judge", "encoder", "encoders.a.path"), "/etc/judge/encoder");
  assert.equal(wholePath("/etc/judge", "/srv/encoder", "encoders.a.path"), "/srv/encoder");
  assert.equal(wholePath(".", "~encoder/x", "--encoder"), resolve("~encoder/x"));
});

test("a leading ~ is refused by the setting's name: it would be a folder of that name", () => {
  for (const path of ["~", "~/encoder", "~\\encoder"]) {
    const { message } = refusal("config", () => wholePath("/etc/judge", path, "encoders.a.path"));
    assert.equal(message, `encoders.a.path: found ${path}, and ~ means no folder here; write the path whole`);
  }
});
