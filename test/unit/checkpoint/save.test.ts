// Writing a checkpoint's files: a process that dies at any step, a disk that refuses, and what damage a
// reader then sees.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { type Checkpoint, loadCheckpoint } from "../../../src/checkpoint/load.js";
import { writeRouterJson1, writeRouterJson2 } from "../../../src/checkpoint/router-json-write.js";
import { saveFile, saveFiles } from "../../../src/checkpoint/save.js";
import { JudgeError } from "../../../src/errors.js";
import { fixturePath } from "../../support/fixtures.js";
import { rejection } from "../../support/refusal.js";

const root = mkdtempSync(join(tmpdir(), "prefill-judge-save-"));
after(() => rmSync(root, { recursive: true }));
const newFolder = () => mkdtempSync(join(root, "folder-"));
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const original = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));
/** The same dimensions, but other weights and the outputs the other way round. */
const changed: Checkpoint = {
  ...original,
  head: {
    ...original.head,
    outputNames: original.head.outputNames.toReversed(),
    blocks: original.head.blocks.map((block) => ({ ...block, pcaMean: block.scalerMean })),
  },
};
const formats = {
  "router-json-1": [original, changed].map(writeRouterJson1),
  "router-json-2": [original, changed].map((content) => writeRouterJson2(content, sha256)),
};

test("files are written into a folder that is made for them, over older ones, and nothing else is left", async () => {
  const folder = join(newFolder(), "a", "b");
  for (const files of [...formats["router-json-2"], ...formats["router-json-1"]]) {
    await saveFiles(folder, { ...files });
    assert.deepEqual(readdirSync(folder).sort(), ["router.json", "router.safetensors"]);
    for (const [name, bytes] of Object.entries(files))
      assert.deepEqual(new Uint8Array(readFileSync(join(folder, name))), new Uint8Array(bytes));
  }
  await saveFile(join(folder, "one.pt"), Uint8Array.of(1));
  assert.deepEqual([...readFileSync(join(folder, "one.pt"))], [1]);
});

test("a folder that lies under a file is refused in one line", async () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  for (const folder of [file, join(file, "below")]) {
    const { message } = await rejection(
      "checkpoint",
      saveFiles(folder, { "router.json": new Uint8Array(1) }),
    );
    assert.match(
      message,
      new RegExp(`^${folder} cannot be written \\(E[A-Z]+\\); give the path of a writable`),
    );
  }
});
test("a folder in the place of a file is left, and nothing beside it", async () => {
  const folder = newFolder();
  mkdirSync(join(folder, "router.json", "x"), { recursive: true });
  await rejection("checkpoint", saveFiles(folder, { ...formats["router-json-2"][0]! }));
  assert.deepEqual(readdirSync(folder), ["router.json"]);
});

test("in a folder that is no checkpoint's nothing is replaced or removed", async () => {
  const files = { ...formats["router-json-2"][0]! };
  for (const [name, content] of [
    ["router.safetensors", "weights of something else"],
    ["notice.txt", "a note"],
    ["router.json", '{"routes": []}'],
  ] as const) {
    const folder = newFolder();
    writeFileSync(join(folder, name), content);
    const { message } = await rejection("checkpoint", saveFiles(folder, files, ["notice.txt"]));
    assert.equal(
      message,
      `${folder} has a ${name} that is not of a checkpoint, and it would be lost; give another folder`,
    );
    assert.deepEqual(readdirSync(folder), [name]);
    assert.equal(readFileSync(join(folder, name), "utf8"), content);
  }
});

test("a pipe in the place of router.json is left, and nobody waits for its other end", async () => {
  const folder = newFolder();
  execFileSync("mkfifo", [join(folder, "router.json")]);
  const { message } = await rejection("checkpoint", saveFiles(folder, { ...formats["router-json-2"][0]! }));
  assert.match(message, / has a router\.json that is not of a checkpoint/);
  assert.deepEqual(readdirSync(folder), ["router.json"]);
});

test("an older checkpoint's notice goes with it, and what else lies there stays", async () => {
  const folder = newFolder();
  const [before, next] = formats["router-json-2"];
  await saveFiles(folder, { ...before!, "notice.txt": new Uint8Array(1) });
  for (const name of ["README.md", "router.json.part", "router.safetensors.part"])
    writeFileSync(join(folder, name), "mine");
  await saveFiles(folder, { ...next! }, ["notice.txt"]);
  assert.deepEqual(readdirSync(folder).sort(), [
    "README.md",
    "router.json",
    "router.json.part",
    "router.safetensors",
    "router.safetensors.part",
  ]);
});

test("a file that another program is still fetching under its name with .part stays", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "labels.jsonl.part"), "half");
  await saveFile(join(folder, "labels.jsonl"), Uint8Array.of(1));
  assert.deepEqual(readdirSync(folder).sort(), ["labels.jsonl", "labels.jsonl.part"]);
});

/**
 * Saves from standard input; at the given file operation it dies, in the middle of a write, or is told that
 * the disk is full.
 */
const saver = `
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { text } from "node:stream/consumers";
const [folder, end, at] = process.argv.slice(1);
const files = JSON.parse(await text(process.stdin));
let step = 0;
const probe = await fs.open("/dev/null");
const handles = Object.getPrototypeOf(probe);
await probe.close();
const intercept = (owner, name) => {
  const original = owner[name];
  owner[name] = async function (...given) {
    // the look at an older router.json is no step of the writing
    const isLook = typeof given[1] === "number";
    if (isLook || ++step !== Number(at)) return original.apply(this, given);
    if (name === "writeFile") await original.call(this, given[0].subarray(0, given[0].length / 2));
    if (end === "kill") process.kill(process.pid, "SIGKILL");
    throw Object.assign(new Error(name), { code: "ENOSPC" });
  };
};
for (const name of ["mkdir", "open", "rename"]) intercept(fs, name);
for (const name of ["writeFile", "sync"]) intercept(handles, name);
syncBuiltinESMExports();
const { saveFiles } = await import(${JSON.stringify(new URL("../../../src/checkpoint/save.js", import.meta.url))});
try {
  await saveFiles(folder, Object.fromEntries(files.map(([name, bytes]) => [name, Uint8Array.from(bytes)])));
} catch (error) {
  process.stdout.write(error.name + " " + error.message);
}
process.exitCode = step < Number(at) ? 3 : 0;
`;

/** Runs the saver; it is done once `at` is beyond its last step. */
function runSaver(folder: string, files: object, end: "kill" | "fail", at: number) {
  const input = JSON.stringify(Object.entries(files).map(([name, bytes]) => [name, [...bytes]]));
  const args = ["--input-type=module", "-e", saver, folder, end, String(at)];
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, { input, encoding: "utf8" });
  assert.equal(stderr, "");
  return { done: status === 3, killed: signal === "SIGKILL", output: stdout };
}

/** Which checkpoint a folder holds: old, new, refused as no whole one, or something else. */
async function stateOf(folder: string): Promise<string> {
  try {
    const { head } = await loadCheckpoint(folder);
    const isSame = ({ head: other }: Checkpoint) => json(head).equals(json(other));
    return isSame(original) ? "old" : isSame(changed) ? "new" : "half";
  } catch (error) {
    return /has another SHA-256|is missing/.test((error as Error).message) ? "refused" : String(error);
  }
}
const json = (value: unknown) =>
  Buffer.from(JSON.stringify(value, (_, part) => (part instanceof Float32Array ? [...part] : part)));
const contentOf = (checkpoint: Checkpoint) => json({ ...checkpoint, hash: null, files: null });

for (const [format, [before, next]] of Object.entries(formats)) {
  test(`${format}: killed at any step, the folder is the old checkpoint, the new one, or refused`, async (context) => {
    const seen: Record<string, number> = {};
    const folder = newFolder();
    for (let at = 1, done = false; !done; at++) {
      await saveFiles(folder, { ...before });
      const outcome = runSaver(folder, next!, "kill", at);
      done = outcome.done;
      assert.notEqual(outcome.killed, done);
      const state = await stateOf(folder);
      seen[state] = (seen[state] ?? 0) + 1;
    }
    context.diagnostic(JSON.stringify(seen));
    assert.ok(seen.old! >= 7 && seen.new! >= 2, "steps before and after the renames");
    const { old: _, new: __, refused: ___, ...rest } = seen;
    assert.deepEqual(rest, {});
  });
}

test("on a disk that is full at any step, the old checkpoint stays, and no other file", async () => {
  const [before, next] = formats["router-json-2"];
  const folder = newFolder();
  // 7 steps: make the folder, then open, write and sync each file
  for (let at = 1; at <= 7; at++) {
    await saveFiles(folder, { ...before });
    const { output } = runSaver(folder, next!, "fail", at);
    assert.match(output, /^JudgeError \S+ cannot be written \(ENOSPC\); /);
    assert.equal(await stateOf(folder), "old");
    assert.deepEqual(readdirSync(folder).sort(), ["router.json", "router.safetensors"]);
  }
});

test("what a killed writer left is gone after the next save", async () => {
  const [before, next] = formats["router-json-1"];
  const folder = newFolder();
  assert.ok(runSaver(folder, next!, "kill", 5).killed);
  await saveFiles(folder, { ...before });
  assert.deepEqual(readdirSync(folder).sort(), ["router.json", "router.safetensors"]);
});

test("damaged bytes of either file are refused or read as the same; under the hash never as another", async (context) => {
  const [files] = formats["router-json-2"];
  const folder = newFolder();
  await saveFiles(folder, { ...files });
  const whole = contentOf(await loadCheckpoint(folder));
  const counts: Record<string, { refused: number; equal: number; different: number }> = {};
  for (const [name, bytes] of Object.entries(files!)) {
    counts[name] = { refused: 0, equal: 0, different: 0 };
    const place = fc.nat(bytes.length - 1);
    const damaged = fc.oneof(
      fc.tuple(place, fc.nat(7)).map(([at, bit]) => bytes.slice().fill(bytes[at]! ^ (1 << bit), at, at + 1)),
      place.map((length) => bytes.slice(0, length)),
      fc.tuple(place, fc.uint8Array({ minLength: 1, maxLength: 16 })).map(([at, noise]) => {
        const copy = bytes.slice();
        copy.set(noise.subarray(0, bytes.length - at), at);
        return copy;
      }),
    );
    const property = fc.asyncProperty(damaged, async (given) => {
      writeFileSync(join(folder, name), given);
      const started = performance.now();
      const outcome = await loadCheckpoint(folder).catch((error: unknown) => error);
      assert.ok(performance.now() - started < 1000);
      if (outcome instanceof Error) {
        assert.ok(outcome instanceof JudgeError && outcome.code === "checkpoint", String(outcome));
        counts[name]!.refused++;
      } else counts[name]![contentOf(outcome as Checkpoint).equals(whole) ? "equal" : "different"]++;
    });
    await fc.assert(property, { numRuns: 2000, endOnFailure: true });
    writeFileSync(join(folder, name), bytes);
  }
  context.diagnostic(JSON.stringify(counts));
  assert.equal(counts["router.safetensors"]!.different, 0);
  assert.ok(Object.values(counts).every(({ refused }) => refused > 1000));
});
