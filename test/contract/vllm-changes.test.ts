// Servers that become others: what was proved of one is not assumed of another, and files of calls that
// nobody waits for do not stay.
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ProofSource } from "../../src/encoder/encoder.js";
import { JudgeError } from "../../src/errors.js";
import {
  capturedLayers,
  encodeOne,
  faultOf,
  options,
  until,
  vllmEncoder,
  vllmEvents,
  vllmFolders,
  withVllm,
} from "../support/vllm/encoder.js";
import { startVllmServer } from "../support/vllm/server.js";

const otherLayers = capturedLayers.map((layer) => layer + 1);

/** What is told of each server, by its host. */
function createTold() {
  const told = new Map<string, string[]>();
  const events = vllmEvents({
    server({ host, isServing, reason }) {
      told.set(host, [...(told.get(host) ?? []), isServing ? "up" : reason!]);
    },
  });
  return { events, of: (url: string) => told.get(new URL(url).host) ?? [] };
}

test("a server that comes back with other layers gives no result, and is in service again with its own", async () => {
  const { events, of } = createTold();
  await withVllm({ events }, async ({ encoder, server, folders }) => {
    const wanted = await encodeOne(encoder);
    const { scope } = encoder;
    await server.close();
    const port = Number(new URL(server.url).port);
    const other = await startVllmServer({ ...folders, layers: otherLayers, port });
    await assert.rejects(encodeOne(encoder), { code: "encoder_down" });
    await until(() => of(server.url).at(-1)!.startsWith("the vLLM server gives other hidden states"), "told");
    assert.equal(encoder.up, false);
    assert.match(
      encoder.fault!.message,
      /other hidden states than the judges were tested on; start it again/,
    );
    assert.equal(encoder.scope, scope, "what was kept was right");
    other.layers = capturedLayers;
    other.fingerprint = server.fingerprint;
    await until(() => encoder.up, "it is in service again");
    assert.deepEqual((await encodeOne(encoder)).pooled, wanted.pooled);
    await encoder.close();
    await other.close();
  });
});

test("layers that change under a server's connections are noticed by its next reply", async () => {
  await withVllm({}, async ({ encoder, server }) => {
    await encodeOne(encoder);
    server.layers = otherLayers;
    server.fingerprint = "vllm-test-other";
    assert.equal((await faultOf(encoder)).code, "encoder_down");
    await until(() => encoder.fault?.message.includes("other hidden states") === true, "told");
  });
});

test("a server with another fingerprint and the same hidden states serves, in a scope of its own", async () => {
  await withVllm({}, async ({ encoder, server }) => {
    const wanted = await encodeOne(encoder);
    const { scope } = encoder;
    let proofs = 0;
    await encoder.admit(async () => void proofs++);
    assert.equal(proofs, 1);
    server.fingerprint = null;
    assert.deepEqual((await encodeOne(encoder)).pooled, wanted.pooled, "the call waited for the proof");
    assert.equal(proofs, 2);
    assert.notEqual(encoder.scope, scope);
  });
});

test("a change that no reply tells is noticed by a look at the server", async () => {
  await withVllm({ probeIntervalMs: 20 }, async ({ encoder, server }) => {
    server.layers = otherLayers;
    await until(() => !encoder.up, "the encoder is down");
    server.layers = capturedLayers;
    await until(() => encoder.up, "the encoder is up");
  });
});

test("a server of the list that disagrees is left out, with its reason", async () => {
  const folders = vllmFolders();
  const servers = [
    await startVllmServer({ ...folders, layers: capturedLayers }),
    await startVllmServer({ ...folders, layers: otherLayers }),
    await startVllmServer({ ...folders, layers: capturedLayers, contextLength: 300 }),
  ];
  const { events, of } = createTold();
  const encoder = vllmEncoder({
    url: "",
    root: folders.root,
    layers: capturedLayers,
    baseUrls: servers.map(({ url }) => url),
    events,
  });
  try {
    await encoder.start();
    await until(() => servers.every(({ url }) => of(url).length > 0), "each has been looked at");
    const reasons = servers.map(({ url }) => of(url)[0]);
    assert.equal(reasons[0], "up");
    assert.match(reasons[1]!, /^the vLLM server gives other hidden states/);
    assert.match(reasons[2]!, /^the vLLM server takes 300 tokens, at the start it was 512; start it with/);
    servers[0]!.fault = "500";
    assert.equal((await faultOf(encoder)).code, "encoder_down");
  } finally {
    await encoder.close();
    await Promise.all(servers.map((server) => server.close()));
    folders.remove();
  }
});

test("a proof is run on each server: one that fails it is left out, a proof that all fail is wrong itself", async () => {
  const folders = vllmFolders();
  const servers = [
    await startVllmServer({ ...folders, layers: capturedLayers }),
    await startVllmServer({ ...folders, layers: capturedLayers }),
  ];
  const { events, of } = createTold();
  const encoder = vllmEncoder({
    url: "",
    root: folders.root,
    layers: capturedLayers,
    baseUrls: servers.map(({ url }) => url),
    events,
  });
  const failing = () => new JudgeError("checkpoint", { found: "p differs" });
  try {
    await encoder.start();
    await until(() => servers.every(({ url }) => of(url)[0] === "up"), "both serve");
    const never = async () => {
      throw failing();
    };
    await assert.rejects(encoder.admit(never), { code: "checkpoint", message: "p differs" });
    assert.ok(
      servers.every(({ url }) => of(url).length === 1),
      "both still serve",
    );
    // only the second server is asked by the second run
    let run = 0;
    const proof = async (source: ProofSource) => {
      const isSecond = ++run % 2 === 0;
      await source.encode(["What is 7326 - 147?"], options);
      if (isSecond) throw failing();
    };
    const end = await encoder.admit(proof);
    assert.equal(of(servers[0]!.url).length, 1);
    assert.deepEqual(of(servers[1]!.url).slice(1), ["p differs"]);
    end();
    await until(() => of(servers[1]!.url).at(-1) === "up", "without the proof it serves again");
  } finally {
    await encoder.close();
    await Promise.all(servers.map((server) => server.close()));
    folders.remove();
  }
});

test("the file of a call that was given up is removed when it comes", async () => {
  await withVllm({}, async ({ encoder, server, folders }) => {
    server.fault = "late";
    const controller = new AbortController();
    const asked = server.requests.length;
    const running = encoder.encode(["a", "b"], { ...options, signal: controller.signal });
    await until(() => server.requests.length === asked + 2, "both are asked for");
    controller.abort(new JudgeError("client_gone", { found: "left" }));
    await assert.rejects(running, { code: "client_gone" });
    await until(() => readdirSync(folders.root).length > 0, "a file comes");
    await until(() => readdirSync(folders.root).length === 0, "the folder is empty");
  });
});

test("the bytes in the folder are told, and above the limit calls are refused", async () => {
  const told: number[] = [];
  const events = vllmEvents({ folderBytes: (bytes) => void told.push(bytes) });
  await withVllm({ maxFolderBytes: 5000, events }, async ({ encoder, folders }) => {
    await encodeOne(encoder);
    writeFileSync(join(folders.root, "cmpl-of-another.safetensors"), new Uint8Array(6000));
    writeFileSync(join(folders.root, "not-of-vllm.bin"), new Uint8Array(9000));
    await until(() => told.at(-1) === 6000, "the bytes are told");
    const { code, message } = await faultOf(encoder);
    assert.equal(code, "overloaded");
    assert.match(message, /^hidden_states_root has 6000 bytes of hidden states, wanted at most 5000, /);
  });
});
