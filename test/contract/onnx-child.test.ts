// The encoder's process beside its parent: it is told no key, and does not outlive it (Linux).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isRunning } from "../support/server-process.js";

const script = fileURLToPath(new URL("../support/onnx/child-process.js", import.meta.url));
/** clock ticks of processor time */
const ticksOf = (pid: number) =>
  Number(
    readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")[11],
  );

test("a process that is busy ends with its parent, which was killed; it had what it needs, and no key", async () => {
  const secrets = {
    PREFILL_JUDGE_API_KEYS: "secret-of-clients",
    PREFILL_JUDGE_ADMIN_KEY: "secret-of-admin",
    VLLM_API_KEY: "secret-of-vllm",
    NODE_AUTH_TOKEN: "secret-of-npm",
    DATABASE_URL: "postgres://user:secret-of-database@host",
  };
  const needed = { LC_ALL: "C.UTF-8", OMP_NUM_THREADS: "3", LD_LIBRARY_PATH: "/nowhere", TZ: "UTC" };
  const parent = spawn(process.execPath, [script], {
    env: { PATH: process.env.PATH, ...secrets, ...needed },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(parent.stdout!, "data");
  const pid = Number(line);
  const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  assert.doesNotMatch(variables.join("\n"), /secret/);
  for (const [name, value] of Object.entries(needed)) assert.ok(variables.includes(`${name}=${value}`), name);
  const before = ticksOf(pid);
  while (ticksOf(pid) < before + 20) await sleep(10);

  parent.kill("SIGKILL");
  await once(parent, "exit");
  const end = performance.now() + 5000;
  while (isRunning(pid) && performance.now() < end) await sleep(10);
  const outlived = isRunning(pid);
  if (outlived) process.kill(pid, "SIGKILL");
  assert.ok(!outlived, "the encoder's process outlives its parent");
});
