// A real `serve` process whose files change under it: told by SIGHUP, or seen by --watch.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { appendFileSync, cpSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { writeRouterJson2 } from "../../src/checkpoint/router-json-write.js";
import { saveFiles } from "../../src/checkpoint/save.js";
import { fixturePath } from "../support/fixtures.js";
import { chat, tinyConfig } from "../support/judge-server.js";
import { isRunning, type ServeProcess, startServe } from "../support/server-process.js";
import { startVllmServer } from "../support/vllm/server.js";

const root = mkdtempSync(join(tmpdir(), "judge-cli-reload-"));
after(() => rmSync(root, { recursive: true }));

interface Files {
  readonly config: string;
  readonly checkpoint: string;
  readonly encoder: string;
  readonly toml: string;
}

/** A configuration, a checkpoint and an encoder of their own. */
function newFiles(): Files {
  const folder = mkdtempSync(join(root, "files-"));
  const [config, checkpoint, encoder] = ["serve.toml", "head", "encoder"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  cpSync(fixturePath("checkpoints/router-json-v1"), checkpoint, { recursive: true });
  cpSync(fixturePath("tiny-encoder"), encoder, { recursive: true });
  const toml = `[runtime]\ndeadline_ms = 30000\nthreads = 1\n${tinyConfig
    .replace(fixturePath("checkpoints/router-json-v1"), checkpoint)
    .replace(fixturePath("tiny-encoder"), encoder)}`;
  writeFileSync(config, toml);
  return { config, checkpoint, encoder, toml };
}

/** Another head in the same place; its hash. */
async function changeHead(checkpoint: string, rows: number): Promise<string> {
  const content = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));
  const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  await saveFiles(checkpoint, { ...writeRouterJson2({ ...content, training: { rows } }, sha256) });
  return (await loadCheckpoint(checkpoint)).hash;
}

async function hashOf({ url }: ServeProcess): Promise<string | null> {
  const body = JSON.stringify(chat("Hi"));
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-prefill-judge-abstained"), null);
  return response.headers.get("x-prefill-judge-checkpoint");
}

const count = ({ errors }: ServeProcess, message: string) => errors.split(`"msg":"${message}`).length - 1;

async function until(condition: () => boolean, what: string, timeoutMs = 10_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!condition()) {
    assert.ok(performance.now() < end, `${what}: not within ${timeoutMs} ms`);
    await sleep(20);
  }
}

let files: Files;
let served: ServeProcess;
afterEach(async () => {
  if (served.alive) await served.kill();
});

describe("SIGHUP", () => {
  beforeEach(async () => {
    files = newFiles();
    served = await startServe("", { args: ["--config", files.config] });
  });

  test("reads configuration and checkpoint anew; nothing is read before it", async () => {
    const old = await hashOf(served);
    const encoder = served.encoderPids();
    const hash = await changeHead(files.checkpoint, 1);
    await sleep(2500);
    assert.equal(await hashOf(served), old);
    served.signal("SIGHUP");
    await until(() => count(served, "reloaded") === 1, "reloaded");
    assert.equal(await hashOf(served), hash);
    assert.deepEqual(served.encoderPids(), encoder);
    served.signal("SIGTERM");
    assert.deepEqual(await served.ended(10_000), { code: 0, signal: null });
  });

  test("with a configuration that is wrong leaves the old one in service, and the next one works", async () => {
    const old = await hashOf(served);
    for (const broken of ["[[", files.toml.replace("max_tokens", "max_token"), ""]) {
      writeFileSync(files.config, broken.replace('"weak"', '"nothing"'));
      const failed = count(served, "reload failed");
      if (broken === "") rmSync(files.config);
      served.signal("SIGHUP");
      await until(() => count(served, "reload failed") === failed + 1, "reload failed");
      assert.equal(await hashOf(served), old);
    }
    assert.ok(!served.errors.includes(root), "the log holds a path");
    writeFileSync(files.config, files.toml.replace('"judge", ', '"another", '));
    served.signal("SIGHUP");
    await until(() => count(served, "reloaded") === 1, "reloaded");
    const models = await (await fetch(`${served.url}/v1/models`)).text();
    assert.match(models, /"another"/);
  });

  test("that reaches the encoder's process too, as from a terminal, does not end it", async () => {
    const [pid] = served.encoderPids();
    process.kill(pid!, "SIGHUP");
    await sleep(300);
    assert.ok(isRunning(pid!), "the encoder process has ended");
    assert.equal(count(served, "encoder down"), 0);
  });
});

test("SIGHUP while the judges are loading does not end the server", async () => {
  files = newFiles();
  served = await startServe("", { args: ["--config", files.config], until: /"msg":"listening"/ });
  served.signal("SIGHUP");
  await until(() => !served.alive || /ready on http/.test(served.output), "ready");
  assert.ok(served.alive);
  await hashOf(served);
});

for (const [how, args] of [
  ["told by SIGHUP", []],
  ["seen by --watch", ["--watch"]],
] as const) {
  test(`what changes during the first load is read after it: ${how}`, async () => {
    files = newFiles();
    served = await startServe("", { args: ["--config", files.config, ...args], until: /"msg":"listening"/ });
    const hash = await changeHead(files.checkpoint, 7);
    if (args.length === 0) served.signal("SIGHUP");
    await until(() => count(served, "reloaded") === 1, "reloaded");
    assert.equal(await hashOf(served), hash);
  });
}

describe("--watch", () => {
  beforeEach(async () => {
    files = newFiles();
    served = await startServe("", { args: ["--config", files.config, "--watch"] });
    // its first look at the files
    await sleep(500);
  });

  test("loads a checkpoint that changes, and one that is damaged not: the next good one is loaded", async () => {
    const encoder = served.encoderPids();
    const first = await changeHead(files.checkpoint, 1);
    await until(() => count(served, "reloaded") === 1, "reloaded");
    assert.equal(await hashOf(served), first);
    truncateSync(join(files.checkpoint, "router.safetensors"), 5000);
    await until(() => count(served, "reload failed") === 1, "reload failed");
    assert.equal(await hashOf(served), first);
    const second = await changeHead(files.checkpoint, 2);
    await until(() => count(served, "reloaded") === 2, "reloaded");
    assert.equal(await hashOf(served), second);
    assert.deepEqual(served.encoderPids(), encoder);
    assert.equal(count(served, "reload"), 3, "once for each change");
  });

  test("never takes a configuration that is gone or empty for the embedded judges", async () => {
    const old = await hashOf(served);
    writeFileSync(files.config, "");
    await until(() => count(served, "reload failed") >= 1, "refused");
    rmSync(files.config);
    await until(() => /serve\.toml is missing/.test(served.errors), "refused");
    assert.equal(await hashOf(served), old);
    const changed = await changeHead(files.checkpoint, 5);
    writeFileSync(files.config, files.toml);
    await until(() => count(served, "reloaded") === 1, "reloaded");
    assert.equal(await hashOf(served), changed);
  });

  test("tries a load that failed for a passing reason again, until it succeeds", async () => {
    const root = mkdtempSync(join(tmpdir(), "judge-cli-vllm-"));
    const server = { root, outside: root, layers: [0, 1, 2, 3] };
    const first = await startVllmServer(server);
    const port = Number(new URL(first.url).port);
    await first.close();
    const vllm = `type = "vllm"
base_url = "${first.url}"
served_model = "tiny"
captured_layers = [0, 1, 2, 3]
hidden_states_root = "${root}"`;
    writeFileSync(files.config, files.toml.replace('type = "onnx"', vllm));
    await until(() => count(served, "reload failed") >= 2, "tried again");
    assert.match(served.errors, /the vLLM server cannot be asked: connection refused/);
    await hashOf(served);
    const second = await startVllmServer({ ...server, port });
    try {
      await until(() => count(served, "reloaded") === 1, "reloaded", 20_000);
      assert.deepEqual(served.encoderPids(), []);
      await hashOf(served);
    } finally {
      await second.close();
      rmSync(root, { recursive: true });
    }
  });

  test("follows the configuration to another checkpoint, and watches that one", async () => {
    const other = newFiles();
    const moved = await changeHead(other.checkpoint, 3);
    writeFileSync(files.config, files.toml.replace(files.checkpoint, other.checkpoint));
    await until(() => count(served, "reloaded") === 1, "reloaded");
    assert.equal(await hashOf(served), moved);
    const changed = await changeHead(other.checkpoint, 4);
    await until(() => count(served, "reloaded") === 2, "reloaded");
    assert.equal(await hashOf(served), changed);
  });

  for (const name of ["tokenizer.json", "chat_template.jinja"]) {
    test(`starts the encoder anew when its ${name} changes`, async () => {
      const [pid] = served.encoderPids();
      appendFileSync(join(files.encoder, name), "\n");
      await until(() => count(served, "reloaded") === 1, "reloaded");
      await until(() => !isRunning(pid!), "the old encoder process has ended");
      await until(() => served.encoderPids().length === 1, "one encoder process");
      await hashOf(served);
    });
  }
});
