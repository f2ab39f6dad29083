// Loads that hang, in a real `serve` process: they cost themselves only, and its end waits for none of them.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fixturePath } from "../support/fixtures.js";
import { chat, tinyConfig } from "../support/judge-server.js";
import { isRunning, type ServeProcess, startServe } from "../support/server-process.js";

const folder = mkdtempSync(join(tmpdir(), "judge-hanging-"));
after(() => rmSync(folder, { recursive: true }));
const config = join(folder, "serve.toml");

/** Takes connections and never answers. */
const silent = createServer();
const sockets = new Set<Socket>();
silent.on("connection", (socket) => sockets.add(socket.on("error", () => {})));
before(() => new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve)));
after(() => {
  for (const socket of sockets) socket.destroy();
  silent.close();
});

const own = (loadTimeoutMs: number) =>
  `[runtime]\ndeadline_ms = 30000\nthreads = 1\nload_timeout_ms = ${loadTimeoutMs}\n`;
/** The judge on a server that never answers. */
const hanging = (loadTimeoutMs: number) =>
  `${own(loadTimeoutMs)}${tinyConfig.replace(
    'type = "onnx"',
    `type = "vllm"
base_url = "http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1"
served_model = "tiny"
captured_layers = [0, 1, 2, 3]
hidden_states_root = "${folder}"
request_timeout_ms = 3600000`,
  )}`;

let served: ServeProcess;
const serve = async (toml: string, until: RegExp) => {
  writeFileSync(config, toml);
  served = await startServe("", { args: ["--config", config], until });
};
afterEach(async () => {
  if (served.alive) await served.kill();
});

async function reloadWith(toml: string): Promise<void> {
  writeFileSync(config, toml);
  served.signal("SIGHUP");
}
async function until(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 20_000;
  while (!condition()) {
    assert.ok(performance.now() < end, `${what}: not in time`);
    await sleep(10);
  }
}
async function judged(): Promise<void> {
  const body = JSON.stringify(chat("Hi"));
  const response = await fetch(`${served.url}/v1/chat/completions`, { method: "POST", body });
  assert.equal(response.headers.get("x-prefill-judge-abstained"), null);
}

test("a reload that hangs is given up in its time, by name; requests, the next reload and the end do not wait", async () => {
  await serve(`${own(60_000)}${tinyConfig}`, /ready on http/);
  sockets.clear();
  await reloadWith(hanging(1000));
  await until(() => sockets.size > 0, "the load hangs");
  await judged();
  await until(() => served.errors.includes("reload failed"), "given up");
  assert.match(served.errors, /"reason":"encoder tiny has not loaded within 1000 ms; look at its files /);
  await reloadWith(`${own(60_000)}${tinyConfig}`);
  await until(() => served.errors.includes('"msg":"reloaded"'), "reloaded");
  await judged();

  sockets.clear();
  await reloadWith(hanging(3_600_000));
  await until(() => sockets.size > 0, "the load hangs");
  const encoders = served.encoderPids();
  served.signal("SIGTERM");
  assert.deepEqual(await served.ended(10_000), { code: 0, signal: null });
  assert.deepEqual(encoders.filter(isRunning), []);
});

test("a first load that hangs is refused in its time, by name", async () => {
  await serve(hanging(1000), /has not loaded/);
  assert.deepEqual(await served.ended(10_000), { code: 2, signal: null });
  assert.match(
    served.errors,
    /^prefill-judge: encoder tiny has not loaded within 1000 ms; .*load_timeout_ms$/m,
  );
});

test("a server whose first load hangs ends on SIGTERM", async () => {
  sockets.clear();
  await serve(hanging(3_600_000), /"msg":"listening"/);
  await until(() => sockets.size > 0, "the load hangs");
  served.signal("SIGTERM");
  assert.deepEqual(await served.ended(10_000), { code: 0, signal: null });
});

test("a template that never ends is refused by a server that goes on; a notice cannot command the terminal", async () => {
  const [encoder, checkpoint] = [join(folder, "encoder"), join(folder, "checkpoint")];
  cpSync(fixturePath("tiny-encoder"), encoder, { recursive: true });
  cpSync(fixturePath("checkpoints/router-json-v1"), checkpoint, { recursive: true });
  writeFileSync(join(checkpoint, "notice.txt"), "be careful\u001b[2J\u009b31m\u0007\rgone\n");
  const toml = `${own(60_000)}${tinyConfig
    .replace(fixturePath("tiny-encoder"), encoder)
    .replace(fixturePath("checkpoints/router-json-v1"), checkpoint)}`;
  await serve(toml, /ready on http/);
  assert.match(served.output, /be careful\\u001b\[2J\\u009b31m\\u0007\\u000dgone/);
  assert.doesNotMatch(`${served.output}${served.errors}`.replaceAll("\n", ""), /\p{Cc}/u);

  const loop = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}";
  writeFileSync(join(encoder, "chat_template.jinja"), loop);
  served.signal("SIGHUP");
  await until(() => served.errors.includes("reload failed"), "given up");
  assert.match(served.errors, /"reason":"encoder tiny: the chat template, or a pattern .* after 1000 ms;/);
  await judged();
});
