// Limits of the process: what Node breaks on ends in one line with the remedy, what is only scarce is said.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { tinyConfig } from "../support/judge-server.js";
import { startServe } from "../support/server-process.js";

const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));

describe("a limit that is too low ends the start in one line", { concurrency: 2 }, () => {
  for (const [limit, wanted] of [
    ["ulimit -n 24", /open files.*ulimit -n/],
    ["ulimit -n 64", /open files.*ulimit -n/],
    ["ulimit -v 4000000", /address space.*ulimit -v.*cgroup/],
  ] as const) {
    test(limit, () => {
      const command = `${limit}; exec "$0" "$1" serve --port 0 --log-level error`;
      const { status, stderr } = spawnSync("/bin/bash", ["-c", command, process.execPath, main], {
        encoding: "utf8",
      });
      assert.match(stderr, wanted);
      assert.equal(stderr.trim().split("\n").length, 1, stderr);
      assert.equal(status, 2);
    });
  }
});

test("with few open files there are fewer places for connections, and the log says so", async () => {
  const server = await startServe(tinyConfig, { shell: "ulimit -n 200" });
  try {
    assert.match(server.errors, /"max_connections":104,"msg":"[^"]*ulimit -n/);
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
  } finally {
    await server.kill();
  }
});

test("a server that every page may use says so in its log", async () => {
  const server = await startServe(`[server]\ncors_origins = ["*"]\n${tinyConfig}`);
  try {
    assert.match(server.errors, /any web page may use this server/);
  } finally {
    await server.kill();
  }
});
