// What the log does to a real `serve` process: a file that cannot be written, a disk that fills, a reader
// that leaves.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { chatPath } from "../support/http/raw-socket.js";
import { chat, tinyConfig } from "../support/judge-server.js";
import { startServe } from "../support/server-process.js";

const marginMs = 6000;
/** of the default, a second at most is needed where nothing runs */
const graceMs = 5000;
const folder = mkdtempSync(join(tmpdir(), "judge-shutdown-"));
after(() => rmSync(folder, { recursive: true }));
const pipe = join(folder, "pipe");
execFileSync("mkfifo", [pipe]);

describe("the log", () => {
  for (const [name, file] of [
    ["in a folder that does not exist", join(folder, "none", "judge.log")],
    ["that is a folder", folder],
    ["on a full disk", "/dev/full"],
    ["that is a pipe without a reader", pipe],
  ] as const) {
    test(`that cannot be written refuses the start with one line and exit code 2: a file ${name}`, async () => {
      const server = await startServe(`[log]\nfile = "${file}"\n${tinyConfig}`, { until: /prefill-judge: / });
      try {
        assert.deepEqual(await server.ended(marginMs), { code: 2, signal: null });
      } finally {
        await server.kill();
      }
      assert.equal(server.output, "");
      assert.equal(server.errors.trim().split("\n").length, 1, server.errors);
      assert.match(server.errors, /log\.file/);
      assert.ok(server.errors.includes(file));
    });
  }

  test("of a file is private and gets every line, standard error none", async () => {
    const file = join(folder, "judge.log");
    const server = await startServe(`[log]\nfile = "${file}"\n${tinyConfig}`);
    assert.equal((await post(server.url)).status, 200);
    server.signal("SIGTERM");
    assert.deepEqual(await server.ended(marginMs), { code: 0, signal: null });
    const messages = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).msg);
    for (const message of ["listening", "encoder up", "judge ready", "judged", "closing"]) {
      assert.ok(messages.includes(message), message);
    }
    assert.equal(statSync(file).mode & 0o077, 0);
    assert.equal(server.errors, "");
  });

  test("that fills its disk while the server runs stops no answer", async () => {
    const file = join(folder, "full.log");
    // files may grow to 2 KiB; past that a write fails with EFBIG
    const shell = "trap '' XFSZ; ulimit -f 2";
    const server = await startServe(`[log]\nfile = "${file}"\n${tinyConfig}`, { shell });
    try {
      for (let request = 0; request < 30; request++) {
        const statuses = [];
        for (const answer of [post(server.url), fetch(`${server.url}/none`)]) {
          statuses.push(
            await answer.then(
              ({ status }) => status,
              () => "none",
            ),
          );
        }
        assert.deepEqual(statuses, [200, 404], `request ${request}, alive ${server.alive}: ${server.errors}`);
      }
      assert.ok(existsSync(file) && readFileSync(file).length <= 2048);
      server.signal("SIGTERM");
      assert.deepEqual(await server.ended(graceMs), { code: 0, signal: null });
    } finally {
      await server.kill();
    }
  });

  test("whose reader has gone stops no answer", async () => {
    const server = await startServe(tinyConfig, {
      shell: "exec 2> >(head -c 200 > /dev/null)",
      until: /ready on/,
    });
    try {
      for (let request = 0; request < 20; request++) assert.equal((await post(server.url)).status, 200);
      server.signal("SIGTERM");
      assert.deepEqual(await server.ended(graceMs), { code: 0, signal: null });
    } finally {
      await server.kill();
    }
  });

  test("whose reader reads no more stops no answer, and not the end", async () => {
    const shell = "exec 2> >(exec sleep 60 > /dev/null 2>&1)";
    const server = await startServe(tinyConfig, { shell, until: /ready on/ });
    try {
      // a pipe takes 64 KiB
      for (let request = 0; request < 500; request++) assert.equal((await post(server.url)).status, 200);
      server.signal("SIGTERM");
      assert.deepEqual(await server.ended(graceMs), { code: 0, signal: null });
    } finally {
      await server.kill();
    }
  });

  test("goes on, and so do the answers, when the reader of the output has left before it is ready", async () => {
    const server = await startServe(tinyConfig, { shell: "exec > >(true)", until: /"judge ready"/ });
    try {
      await sleep(100);
      assert.equal((await post(server.url)).status, 200);
      server.signal("SIGTERM");
      assert.deepEqual(await server.ended(graceMs), { code: 0, signal: null });
    } finally {
      await server.kill();
    }
  });

  for (const [name, args, env, warns] of [
    ["a public address without keys", ["--host", "0.0.0.0"], {}, true],
    ["a public address with keys", ["--host", "0.0.0.0"], { PREFILL_JUDGE_API_KEYS: "k" }, false],
    ["the loopback without keys", [], {}, false],
  ] as const) {
    test(`${warns ? "warns" : "does not warn"} of ${name}`, async () => {
      const server = await startServe(tinyConfig, { args, env, until: /"msg":"encoder up"/ });
      const warnings = server.errors.split("\n").filter((line) => line.includes('"level":40'));
      assert.deepEqual(
        warnings.map((line) => /no key/.test(line)),
        warns ? [true] : [],
      );
      await server.kill();
    });
  }
});

function post(url: string): Promise<Response> {
  return fetch(`${url}${chatPath}`, { method: "POST", body: JSON.stringify(chat("Hi")) });
}
