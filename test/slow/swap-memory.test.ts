// Fifty swaps of heads and ten of encoders leave nothing behind: memory, open files and processes stay what
// they were.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { writeRouterJson2 } from "../../src/checkpoint/router-json-write.js";
import { saveFiles } from "../../src/checkpoint/save.js";
import { fixturePath } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer } from "../support/judge-server.js";
import { readCompletion } from "../support/verdict.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const folder = mkdtempSync(join(tmpdir(), "judge-memory-"));
after(() => rmSync(folder, { recursive: true }));
cpSync(fixturePath("tiny-encoder"), join(folder, "copy"), { recursive: true });

/** A head of 40 members, 5 MB: one that stays would be seen. */
const original = await loadCheckpoint(fixturePath("checkpoints/router-json-v1-four-outputs"));
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
for (const [name, count] of [
  ["large", 39],
  ["larger", 40],
] as const) {
  const members = Array.from({ length: count }, (_, index) => original.head.members[index % 3]!);
  const files = writeRouterJson2({ ...original, head: { ...original.head, members } }, sha256);
  await saveFiles(join(folder, name), { ...files });
}

const configOf = (checkpoint: string, encoder: string) => `
[runtime]
deadline_ms = 30000
threads = 1
[encoders.tiny]
type = "onnx"
path = "${encoder}"
[judges.tiny]
checkpoint = "${join(folder, checkpoint)}"
encoder = "tiny"
output = "b/two"
`;
const heads = ["large", "larger"].map((name) => configOf(name, fixturePath("tiny-encoder")));
const encoders = [fixturePath("tiny-encoder"), join(folder, "copy")].map((path) => configOf("large", path));

interface Footprint {
  /** live objects and buffers, in bytes */
  readonly live: number;
  readonly resident: number;
  readonly files: number;
  readonly processes: number;
}

async function footprint(): Promise<Footprint> {
  for (let round = 0; round < 3; round++) {
    await sleep(50);
    collect();
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
  return {
    live: heapUsed + arrayBuffers,
    resident: rss,
    files: readdirSync("/proc/self/fd").length,
    processes: children.trim().split(" ").length,
  };
}

async function swap(server: JudgeServer, configs: readonly string[], count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    await server.reload(configs[index % configs.length]!);
    const { completion } = await readCompletion(
      await server.post("/v1/chat/completions", chat(`Number ${index}`)),
    );
    assert.equal(completion.prefill_judge.abstained, null);
  }
}

for (const [what, configs, count] of [
  ["heads", heads, 50],
  ["encoders", encoders, 10],
] as const) {
  test(`${count} swaps of ${what} leave memory, files and processes as they were`, async (context) => {
    const server = await startJudgeServer(configs[1]!, { "--log-level": "silent" });
    try {
      await swap(server, configs, 4);
      const before = await footprint();
      await swap(server, configs, count);
      const now = await footprint();
      const grown = (key: keyof Footprint) => now[key] - before[key];
      const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
      context.diagnostic(
        `live ${megabytes(before.live)} → ${megabytes(now.live)} MB, resident ${megabytes(before.resident)} → ${megabytes(now.resident)} MB`,
      );
      assert.ok(grown("live") < 3e6, "less than one head");
      assert.ok(grown("resident") < 60e6);
      assert.ok(grown("files") <= 2);
      assert.equal(grown("processes"), 0);
    } finally {
      await server.close();
    }
  });
}
