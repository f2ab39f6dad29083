// Files that change, and loads that fail: whatever happens in between, the files come into service in the
// end.
import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { stampOf } from "../../../src/encoder/folder.js";
import { watch } from "../../../src/server/watch.js";

let folder: string;
let file: string;
let stop: () => void;
/** What the loads come to, in turn; `looks` counts the looks so far. */
let state: { loads: number[]; looks: number; fails: (load: number) => boolean };
let onLook: (() => void)[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "judge-watch-"));
  file = join(folder, "file");
  writeFileSync(file, "first");
  state = { loads: [], looks: 0, fails: () => false };
  onLook = [];
  const controller = new AbortController();
  const first = await stampOf([file]);
  const running = watch({
    paths: async () => {
      state.looks++;
      for (const tell of onLook) tell();
      return [file];
    },
    first,
    load: async () => {
      state.loads.push(state.looks);
      if (state.fails(state.loads.length)) throw new Error("not now");
    },
    signal: controller.signal,
    intervalMs: 1,
  });
  stop = () => controller.abort();
  endOfWatch = running;
});
let endOfWatch: Promise<void>;
afterEach(async () => {
  stop();
  await endOfWatch;
  rmSync(folder, { recursive: true });
});

/** Resolves at a look at which the condition holds. */
function until(condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    onLook.push(() => {
      if (condition()) resolve();
    });
  });
}
const looks = (count: number) => {
  const end = state.looks + count;
  return until(() => state.looks >= end);
};

test("files that stay as they were read are not loaded, those that change once", async () => {
  await looks(10);
  assert.deepEqual(state.loads, []);
  writeFileSync(file, "another");
  await until(() => state.loads.length > 0);
  await looks(50);
  assert.equal(state.loads.length, 1);
});

test("a load that fails is tried again with the same files, at growing intervals, until it does not", async () => {
  state.fails = (load) => load <= 4;
  writeFileSync(file, "another");
  await until(() => state.loads.length === 5);
  await looks(50);
  assert.equal(state.loads.length, 5);
  const pauses = state.loads.slice(1).map((look, index) => look - state.loads[index]!);
  assert.deepEqual(pauses, [2, 4, 8, 16]);
});

test("other files are loaded at once, however long the pause has become", async () => {
  state.fails = (load) => load <= 6;
  writeFileSync(file, "another");
  await until(() => state.loads.length === 6);
  const failed = state.looks;
  writeFileSync(file, "the third of them");
  await until(() => state.loads.length === 7);
  assert.ok(state.loads[6]! - failed < 32, "it waited for the pause of the files before");
});

test("a file that vanishes, and comes back as it is served, is not loaded any more", async () => {
  state.fails = () => true;
  renameSync(file, `${file}.away`);
  await until(() => state.loads.length === 2);
  renameSync(`${file}.away`, file);
  await looks(3);
  const { length } = state.loads;
  await looks(50);
  assert.equal(state.loads.length, length);
});
