// Lines into a pipe whose reader takes its time, and to a place that takes none.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createLineFile, withoutBlocking } from "../../../src/observe/line-file.js";

const folder = mkdtempSync(join(tmpdir(), "line-file-"));
after(() => rmSync(folder, { recursive: true }));
const lineOf = (index: number) => `{"line":${index},"text":"${"ä".repeat(100)}"}\n`;
const linesOf = (count: number) => Array.from({ length: count }, (_, index) => lineOf(index));

/** A pipe, and the end of it that nobody reads yet. */
function openPipe(name: string) {
  const path = join(folder, name);
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, file: createLineFile(withoutBlocking(openSync(path, constants.O_WRONLY))) };
}

test("a file gets every line, in order, soon after the last one", async () => {
  const path = join(folder, "file.log");
  const file = createLineFile(openSync(path, "a"));
  const lines = linesOf(500);
  for (const [index, line] of lines.entries()) {
    file.write(line);
    if (index % 100 === 0) await sleep(1);
  }
  await sleep(500);
  assert.equal(readFileSync(path, "utf8"), lines.join(""));
});

test("a pipe whose reader pauses gets every line, in order, once it reads again; nobody waits for it", async () => {
  const { reader, file } = openPipe("pipe");
  const lines = linesOf(2000);
  for (const [index, line] of lines.entries()) {
    file.write(line);
    // some come while a write is under way, and while it fails
    if (index % 50 === 0) await sleep(2);
  }
  await sleep(300);
  const received: Buffer[] = [];
  const buffer = Buffer.alloc(65_536);
  const wanted = lines.join("");
  const end = performance.now() + 20_000;
  while (Buffer.concat(received).length < Buffer.byteLength(wanted) && performance.now() < end) {
    try {
      received.push(Buffer.from(buffer.subarray(0, readSync(reader, buffer))));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN");
      await sleep(5);
    }
  }
  assert.equal(Buffer.concat(received).toString("utf8"), wanted);
  closeSync(reader);
});

test("what nobody takes is dropped beyond a megabyte, and what comes after is written whole", async () => {
  const { reader, file } = openPipe("full");
  const lines = linesOf(20_000);
  for (const line of lines) file.write(line);
  await sleep(200);
  const received: Buffer[] = [];
  const buffer = Buffer.alloc(65_536);
  for (let quiet = 0; quiet < 100; quiet++) {
    try {
      received.push(Buffer.from(buffer.subarray(0, readSync(reader, buffer))));
      quiet = 0;
    } catch {
      await sleep(5);
    }
  }
  const taken = Buffer.concat(received).toString("utf8");
  assert.ok(taken.length > 2 ** 20 && taken.length < lines.join("").length, `${taken.length} characters`);
  assert.equal(taken, lines.slice(0, taken.split("\n").length - 1).join(""));
  closeSync(reader);
});
