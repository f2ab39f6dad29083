// Files that may be read, and what stands in their place: each is refused by name, and none is waited for.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  isMissing,
  openRegularFile,
  readRegularFile,
  readRegularFileSync,
  type WantedFile,
} from "../../../src/input/regular-file.js";
import { refusal, rejection } from "../../support/refusal.js";

const root = mkdtempSync(join(tmpdir(), "judge-files-"));
const at = (name: string) => join(root, name);
const wantedAt = (path: string): WantedFile => ({
  path,
  name: "part.json",
  code: "encoder",
  remedy: "restore it",
  maxBytes: 8,
});
const server = createServer();

before(async () => {
  writeFileSync(at("eight"), "12345678");
  writeFileSync(at("nine"), "123456789");
  writeFileSync(at("blank"), "");
  mkdirSync(at("folder"));
  symlinkSync("eight", at("link"));
  symlinkSync("nowhere", at("dangling"));
  symlinkSync("loop", at("loop"));
  symlinkSync("/dev/zero", at("endless"));
  execFileSync("mkfifo", [at("pipe")]);
  await new Promise<void>((resolve) => server.listen(at("socket"), resolve));
});
after(() => {
  server.close();
  rmSync(root, { recursive: true });
});

for (const [name, content] of [
  ["eight", "12345678"],
  ["link", "12345678"],
  ["blank", ""],
] as const) {
  test(`all of a regular file is read: ${name}`, async () => {
    assert.equal((await readRegularFile(wantedAt(at(name)))).toString(), content);
    assert.equal(readRegularFileSync(wantedAt(at(name))).toString(), content);
  });
}

for (const [name, finding] of [
  ["none", "is missing"],
  ["dangling", "is a link to a file that is missing"],
  ["loop", "cannot be read (ELOOP)"],
  ["eight/inside", "cannot be read (ENOTDIR)"],
  ["folder", "is a folder, wanted a regular file"],
  ["pipe", "is a pipe, wanted a regular file"],
  ["socket", "is a socket, wanted a regular file"],
  ["endless", "is a device, wanted a regular file"],
  ["nine", "has 9 bytes, wanted at most 8"],
] as const) {
  test(`anything else is refused in one line, at once: ${name} ${finding}`, async () => {
    const wanted = wantedAt(at(name));
    const errors = [
      await rejection("encoder", readRegularFile(wanted)),
      await rejection("encoder", openRegularFile(wanted)),
      refusal("encoder", () => readRegularFileSync(wanted)),
    ];
    for (const error of errors) {
      assert.equal(error.message, `part.json ${finding}; restore it`);
      assert.equal(isMissing(error), name === "none");
    }
  });
}
