// A judge whose encoder's chat template prints the date, in real processes before and after midnight.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { clockStartsAt, datedTraining, makeDated } from "../support/dated.js";
import { packagePath } from "../support/fixtures.js";

const folder = mkdtempSync(join(tmpdir(), "judge-dated-"));
after(() => rmSync(folder, { recursive: true }));
const path = (name: string) => join(folder, name);
const dated = makeDated(folder);
const { encoder } = dated;

/** The command in a process, and encoder processes, whose clock starts at that time. */
function runAt(time: string, ...args: string[]) {
  return spawnSync(process.execPath, [packagePath("dist/src/main.js"), ...args], {
    encoding: "utf8",
    env: { ...process.env, ...clockStartsAt(time) },
  });
}

const before = "2026-06-30T23:59:00Z";
const afterwards = "2026-07-01T00:01:00Z";
const day = '{"date_string": "30 Jun 2026"}';
const training = (out: string, ...more: string[]) => [...datedTraining(dated, path(out)), ...more];

test("is refused in training without a day, and judges after midnight as before with one", () => {
  const refused = runAt(before, ...training("judge"));
  assert.equal(refused.status, 2);
  assert.match(refused.stderr, /the chat template prints the date.*train.*--chat-template-kwargs/);

  const trained = runAt(before, ...training("judge", "--chat-template-kwargs", day));
  assert.equal(trained.status, 0, trained.stderr);
  const router = JSON.parse(readFileSync(path("judge/router.json"), "utf8"));
  assert.deepEqual(router.view.chat_template_kwargs, { date_string: "30 Jun 2026" });
  for (const time of [before, afterwards]) {
    const verified = runAt(time, "verify", path("judge"), "--encoder", encoder);
    assert.equal(verified.status, 0, verified.stderr);
  }
});

test("that was trained before a day could be given is refused with the remedy, which works", () => {
  cpSync(path("judge"), path("old"), { recursive: true });
  const router = JSON.parse(readFileSync(path("judge/router.json"), "utf8"));
  router.view.chat_template_kwargs = {};
  writeFileSync(path("old/router.json"), JSON.stringify(router));
  const refused = runAt(before, "verify", path("old"), "--encoder", encoder);
  assert.equal(refused.status, 2);
  assert.match(
    refused.stderr,
    /convert the checkpoint, with --chat-template-kwargs.*the day of its training/,
  );

  const converted = runAt(afterwards, "convert", path("old"), path("new"), "--chat-template-kwargs", day);
  assert.equal(converted.status, 0, converted.stderr);
  const verified = runAt(afterwards, "verify", path("new"), "--encoder", encoder);
  assert.equal(verified.status, 0, verified.stderr);
  // the same weights, and so the same p
  assert.deepEqual(
    readFileSync(path("new/router.safetensors")),
    readFileSync(path("judge/router.safetensors")),
  );
});

test("arguments that are no JSON object, or have no template to go to, are refused", () => {
  const { status, stderr } = runAt(before, ...training("none", "--chat-template-kwargs", "30 Jun 2026"));
  assert.equal(status, 2);
  assert.match(stderr, /wanted a JSON object such as \{"date_string": "26 Jul 2024"\}/);
  const bare = runAt(before, ...training("none", "--chat-template-kwargs", day, "--encoder", "minilm"));
  assert.equal(bare.status, 2);
  assert.match(bare.stderr, /encoder minilm has no chat template; leave it out/);
});
