// What `doctor` is told of a vLLM server that does something wrong: each fault is named with what to do about
// it.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import type { Observation } from "../../src/encoder/observation.js";
import { examineVllm } from "../../src/encoder/vllm/examine.js";
import { examineFolder } from "../../src/encoder/vllm/examine-folder.js";
import { capturedLayers, vllmFolders, vllmParts } from "../support/vllm/encoder.js";
import { faults, timeoutMs } from "../support/vllm/faults.js";
import type { Fault } from "../support/vllm/files.js";
import { startVllmServer } from "../support/vllm/server.js";

const folders = vllmFolders();
after(() => folders.remove());
const nobody = 65_534;

async function wrongOf(fault: Fault, outside = folders.outside): Promise<Observation[]> {
  const server = await startVllmServer({ root: folders.root, outside, layers: capturedLayers });
  server.fault = fault;
  try {
    const parts = vllmParts({ url: server.url, root: folders.root, layers: capturedLayers });
    const findings = await examineVllm({ ...parts, timeoutMs, fileTimeoutMs: timeoutMs });
    return findings.filter(({ status }) => status === "wrong");
  } finally {
    await server.close();
    for (const name of readdirSync(folders.root)) rmSync(join(folders.root, name), { recursive: true });
  }
}

test("every fault is wrong in one line, and has an advice", async () => {
  for (const [fault] of faults) {
    const wrong = await wrongOf(fault);
    assert.equal(wrong.length, 1, fault);
    assert.ok(wrong[0]!.advice !== null && wrong[0]!.advice !== "", `${fault}: ${wrong[0]!.found}`);
  }
});

test("a path of the server's stands as it is in what was found, whatever its letters", async () => {
  const outside = join(folders.outside, "a; b $& c");
  mkdirSync(outside);
  const [wrong] = await wrongOf("outside the root", outside);
  assert.match(wrong!.found, /outside hidden_states_root \(it named \/.*\/a; b \$& c\/\S+\.safetensors\)$/);
  assert.match(wrong!.advice!, /^set it to/);
});

test("files in a folder that cannot be listed are not counted as none", async () => {
  const { root, remove } = vllmFolders();
  chmodSync(dirname(root), 0o755);
  chmodSync(root, 0o300);
  const isRoot = process.geteuid!() === 0;
  if (isRoot) process.seteuid!(nobody);
  try {
    const findings = await examineFolder({ hiddenStatesRoot: root, staleMs: 1000 });
    assert.equal(findings.find(({ check }) => check === "stale-files")!.status, "skipped");
  } finally {
    if (isRoot) process.seteuid!(0);
    chmodSync(root, 0o700);
    remove();
  }
});
