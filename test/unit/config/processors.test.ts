// The quota of control groups, as Linux tells it in both versions, on files of a test's own; and that it
// counts for `serve`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { cpuQuota } from "../../../src/config/processors.js";
import { packagePath } from "../../support/fixtures.js";

const folder = mkdtempSync(join(tmpdir(), "cgroups-"));
after(() => rmSync(folder, { recursive: true }));
let next = 0;

/** @param files by path below the root */
function quotaOf(groups: string | null, files: Readonly<Record<string, string>>): number {
  const root = join(folder, String(next++));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  const list = `${root}.groups`;
  if (groups !== null) writeFileSync(list, groups);
  return cpuQuota({ groups: list, root });
}

const none = Number.POSITIVE_INFINITY;

test("version 2: whole processors, at least one, and no bound where there is none", () => {
  for (const [content, processors] of [
    ["max 100000\n", none],
    ["", none],
    ["200000 100000\n", 2],
    ["250000 100000\n", 2],
    ["50000 100000\n", 1],
    ["50000", none],
    ["nonsense", none],
  ] as const)
    assert.equal(quotaOf("0::/\n", { "cpu.max": content }), processors, content);
  assert.equal(quotaOf(null, { "cpu.max": "300000 100000\n" }), 3);
  assert.equal(quotaOf(null, {}), none);
});

test("version 2: the least of the process's own group and those above it", () => {
  const files = {
    "system.slice/judge.service/cpu.max": "400000 100000\n",
    "system.slice/cpu.max": "300000 100000\n",
    "other.slice/cpu.max": "100000 100000\n",
  };
  assert.equal(quotaOf("0::/system.slice/judge.service\n", files), 3);
  assert.equal(quotaOf("0::/system.slice\n", files), 3);
  assert.equal(quotaOf("0::/\n", files), none);
});

test("version 1: the cpu controller's quota, in the group's own folder or, in a container, at the root", () => {
  const groups = "3:cpuset:/\n2:cpu,cpuacct:/docker/1f:2\n1:name=systemd:/docker/1f\n0::/docker/1f\n";
  const files = (place: string, quota: string) => ({
    [`cpu/${place}cpu.cfs_quota_us`]: quota,
    [`cpu/${place}cpu.cfs_period_us`]: "100000\n",
  });
  assert.equal(quotaOf(groups, files("docker/1f:2/", "200000\n")), 2);
  assert.equal(quotaOf(groups, files("", "600000\n")), 6);
  assert.equal(quotaOf(groups, files("", "-1\n")), none);
  assert.equal(quotaOf(groups, files("docker/other/", "100000\n")), none);
  assert.equal(quotaOf("3:cpuset:/a\n", files("a/", "100000\n")), none);
});

/** Of a configuration without a word on it, on a machine of 16 processors with this quota. */
function threadsWith(quota: string): string {
  const script = `
    import fs from "node:fs";
    import os from "node:os";
    import { syncBuiltinESMExports } from "node:module";
    const { readFileSync } = fs;
    os.availableParallelism = () => 16;
    fs.readFileSync = (path, ...rest) =>
      path === "/sys/fs/cgroup/cpu.max" ? ${JSON.stringify(quota)} : String(path).startsWith("/proc/self/cgroup") ? "" : readFileSync(path, ...rest);
    syncBuiltinESMExports();
    const { loadConfig } = await import(${JSON.stringify(new URL("../../../src/config/config.js", import.meta.url))});
    const sources = { file: undefined, env: {}, packageRoot: ${JSON.stringify(packagePath(""))} };
    const { runtime } = loadConfig({ ...sources, flags: {} });
    const shared = loadConfig({ ...sources, flags: { "--processes": "2" } }).runtime;
    console.log(runtime.threads, shared.threads);
  `;
  return execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }).trim();
}

test("a server has as many threads as its quota allows, shared out among its processes", () => {
  assert.equal(threadsWith("max 100000"), "16 8");
  assert.equal(threadsWith("400000 100000"), "4 2");
  assert.equal(threadsWith("50000 100000"), "1 1");
});
