// The vLLM adapter in service: several servers, limits, aborted calls, servers that go and come back, what is
// refused at the start, and files that nobody came for.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { serializeSafetensors } from "../../src/checkpoint/safetensors.js";
import type { EncodeOptions, Encoder } from "../../src/encoder/encoder.js";
import type { VllmEncoderParts } from "../../src/encoder/vllm/parts.js";
import type { Swept } from "../../src/encoder/vllm/sweep.js";
import { JudgeError } from "../../src/errors.js";
import { fixturePath } from "../support/fixtures.js";
import {
  capturedLayers,
  encodeOne,
  faultOf,
  openFileCount,
  options,
  until,
  vllmEncoder,
  vllmEvents,
  vllmFolders,
  withVllm,
} from "../support/vllm/encoder.js";
import { fileOf, hiddenSize } from "../support/vllm/files.js";
import { startVllmServer, type VllmServer } from "../support/vllm/server.js";

/** As a server leaves it for one token. */
const hiddenStatesFile = fileOf(new Float32Array(capturedLayers.length * hiddenSize).fill(1), [1], {
  fault: "none",
  dtype: "F32",
});

/** Servers and an encoder on all of them, once each has been proved. */
async function withSeveral(
  count: number,
  changes: Partial<VllmEncoderParts>,
  work: (subject: { encoder: Encoder; servers: VllmServer[]; down: string[] }) => Promise<void>,
): Promise<void> {
  const folders = vllmFolders();
  const start = () => startVllmServer({ ...folders, layers: capturedLayers });
  const servers = await Promise.all(Array.from({ length: count }, start));
  const serving = new Set<string>();
  const down: string[] = [];
  const encoder = vllmEncoder({
    url: "",
    root: folders.root,
    layers: capturedLayers,
    baseUrls: servers.map(({ url }) => url),
    events: vllmEvents({
      server({ host, isServing, reason }) {
        if (isServing) serving.add(host);
        else down.push(`${servers.findIndex(({ url }) => url.includes(host))}: ${reason}`);
      },
    }),
    ...changes,
  });
  try {
    await encoder.start();
    await until(() => serving.size === count, "each server has been proved");
    await work({ encoder, servers, down });
  } finally {
    await encoder.close();
    await Promise.all(servers.map((server) => server.close()));
    folders.remove();
  }
}

/** How often a server was asked for what `encodeOne` asks for. */
async function askedOne(encoder: Encoder, { requests }: VllmServer): Promise<number> {
  const [tokens] = await encoder.tokenize(["What is 7326 - 147?"], options.view);
  assert.ok(!(tokens instanceof JudgeError));
  return requests.filter(({ ids }) => ids.join() === tokens!.ids.join()).length;
}

test("servers are tried in turn, and the one that answered is asked first", async () => {
  await withSeveral(2, {}, async ({ encoder, servers: [first, second] }) => {
    const wanted = await encodeOne(encoder);
    assert.deepEqual([await askedOne(encoder, first!), await askedOne(encoder, second!)], [1, 0]);
    first!.fault = "500";
    assert.deepEqual((await encodeOne(encoder)).pooled, wanted.pooled);
    assert.deepEqual((await encodeOne(encoder)).pooled, wanted.pooled);
    assert.deepEqual([await askedOne(encoder, first!), await askedOne(encoder, second!)], [2, 2]);
    assert.ok(encoder.up);
  });
});

test("servers that hang or refuse are passed over within the time of one call, and the one that answers stays first", async () => {
  await withSeveral(3, { timeoutMs: 200 }, async ({ encoder, servers }) => {
    const [refusing, hung, server] = servers as [VllmServer, VllmServer, VllmServer];
    refusing.fault = "429";
    hung.fault = "hung";
    const started = performance.now();
    await encodeOne(encoder);
    const waited = performance.now() - started;
    assert.ok(waited >= 195 && waited < 1000, `took ${waited} ms`);
    await encodeOne(encoder);
    const asked = servers.map((each) => askedOne(encoder, each));
    assert.deepEqual(await Promise.all(asked), [1, 1, 2]);
    server.fault = "500";
    const { code } = await faultOf(encoder);
    assert.equal(code, "overloaded");
    await until(() => hung.load.now === 0, "the hung request has ended");
  });
});

test("a server that hangs costs a request its share of the time only, and after some it is asked no more", async () => {
  await withSeveral(2, { timeoutMs: 10_000 }, async ({ encoder, servers: [first, second], down }) => {
    const wanted = await encodeOne(encoder);
    first!.fault = "hung";
    const ask = async () => {
      const expiresAt = performance.now() + 300;
      const { encodings } = await encoder.encode(["What is 7326 - 147?"], {
        ...options,
        expiresAt: () => expiresAt,
      });
      return encodings[0] instanceof JudgeError ? encodings[0].message : encodings[0]!.pooled;
    };
    // all at once: the second is preferred only once it has answered
    const answers = await Promise.all(Array.from({ length: 4 }, ask));
    for (const answer of answers) assert.deepEqual(answer, wanted.pooled);
    assert.equal(down.length, 1);
    assert.match(down[0]!, /^0: the vLLM server gave no reply within 1[45]\d ms; see its own log/);
    const asked = await askedOne(encoder, first!);
    second!.fault = "500";
    assert.match(String(await ask()), /answered 500/);
    assert.equal(await askedOne(encoder, first!), asked, "the hung one is not asked");
  });
});

test("with hedge the next server is asked when the first is slower than usual, and the first answer counts", async () => {
  await withSeveral(2, { hedge: true }, async ({ encoder, servers: [first, second] }) => {
    for (let round = 0; round < 25; round++) await encodeOne(encoder);
    const before = await askedOne(encoder, second!);
    first!.fault = "hung";
    const started = performance.now();
    await encodeOne(encoder);
    assert.ok(performance.now() - started < 1000, "long before its time is up");
    assert.equal(await askedOne(encoder, second!), before + 1);
    await until(() => first!.load.now === 0, "the request that was overtaken has ended");
  });
});

test("a request whose kept socket the server ends is sent again on a new one", async () => {
  await withVllm({}, async ({ encoder, server }) => {
    const wanted = await encodeOne(encoder);
    server.fault = "cut off when kept";
    const asked = server.requests.length;
    assert.deepEqual((await encodeOne(encoder)).pooled, wanted.pooled);
    assert.equal(server.requests.length, asked + 2);
    assert.ok(encoder.up);
  });
});

test("no more than max_in_flight requests at once, and more than the queue holds are overloaded", async () => {
  await withVllm({ maxInFlight: 2, queueLimit: 3 }, async ({ encoder, server }) => {
    server.fault = "late reply";
    const texts = Array.from({ length: 8 }, (_, index) => `text ${index}`);
    const codesOf = async (more: Partial<EncodeOptions>) => {
      const { encodings } = await encoder.encode(texts, { ...options, ...more });
      return encodings.map((entry) => (entry instanceof JudgeError ? entry.code : "fine"));
    };
    const overloaded = await codesOf({ expiresAt: () => Number.POSITIVE_INFINITY });
    assert.deepEqual(overloaded, [...Array(5).fill("fine"), ...Array(3).fill("overloaded")]);
    // such as a selftest
    assert.deepEqual(await codesOf({}), Array(8).fill("fine"));
    assert.equal(server.load.most, 2);
    const expired = await faultOf(encoder, { expiresAt: () => performance.now() - 1 });
    assert.equal(expired.code, "overloaded");
  });
});

test("the key is sent as a bearer token, and only ids are sent of a text", async () => {
  await withVllm({ apiKey: "secret-key" }, async ({ encoder, server }) => {
    await encodeOne(encoder);
    const [tokens] = await encoder.tokenize(["What is 7326 - 147?"], options.view);
    const { ids, authorization } = server.requests.at(-1)!;
    assert.equal(authorization, "Bearer secret-key");
    assert.ok(!(tokens instanceof JudgeError));
    assert.deepEqual(ids, tokens!.ids);
  });
});

for (const fault of ["hung", "never"] as const) {
  test(`an aborted call leaves a server that is ${fault} at once, and leaks nothing`, async () => {
    await withVllm({ timeoutMs: 60_000, fileTimeoutMs: 60_000 }, async ({ encoder, server, folders }) => {
      const openBefore = openFileCount();
      server.fault = fault;
      const controller = new AbortController();
      const reason = new JudgeError("deadline", { found: "too late" });
      const running = encoder.encode(["a", "b"], { ...options, signal: controller.signal });
      setTimeout(() => controller.abort(reason), 50);
      await assert.rejects(running, (error) => error === reason);
      await until(() => server.load.now === 0, "the requests have ended");
      await until(() => openFileCount() <= openBefore, "its files are closed");
      await until(() => readdirSync(folders.root).length === 0, "the folder is empty");
      assert.ok(encoder.up);
    });
  });
}

test("close ends what is under way with encoder_down", async () => {
  await withVllm({ timeoutMs: 60_000 }, async ({ encoder, server }) => {
    server.fault = "hung";
    const running = assert.rejects(encoder.encode(["a"], options), { code: "encoder_down" });
    await until(() => server.load.now === 1, "the request is there");
    await encoder.close();
    await running;
    assert.equal(encoder.up, false);
    await until(() => server.sockets.size === 0, "its sockets are closed");
  });
});

test("a server that goes takes the encoder down, and up again when it comes back", async () => {
  const told: string[] = [];
  const events = vllmEvents({
    up: (_, { restarts }) => void told.push(`up ${restarts}`),
    down: ({ reason }) => void told.push(`down: ${reason}`),
    warning: (finding) => void told.push(finding),
  });
  await withVllm({ events }, async ({ encoder, server, folders }) => {
    const wanted = await encodeOne(encoder);
    await server.close();
    assert.equal((await faultOf(encoder)).code, "encoder_down");
    await until(() => !encoder.up, "the encoder is down");
    await assert.rejects(encoder.encode(["a"], options), { code: "encoder_down" });
    const port = Number(new URL(server.url).port);
    const back = await startVllmServer({ ...folders, layers: capturedLayers, port });
    try {
      await until(() => encoder.up, "the encoder is up");
      assert.deepEqual((await encodeOne(encoder)).pooled, wanted.pooled);
    } finally {
      await encoder.close();
      await back.close();
    }
  });
  assert.equal(told.length, 3);
  assert.deepEqual([told[0], told[2]], ["up 0", "up 1"]);
  assert.match(told[1]!, /^down: the vLLM server cannot be asked: .* \(ECONN(REFUSED|RESET)\); /);
});

test("a text that is longer than the server takes fails alone, and says what to lower", async () => {
  await withVllm({}, async ({ encoder }) => {
    const view = { ...options.view, maxTokens: 5000 };
    const { encodings } = await encoder.encode(["fine", "word ".repeat(3000)], { ...options, view });
    const [fine, long] = encodings;
    assert.ok(!(fine instanceof JudgeError));
    assert.ok(long instanceof JudgeError);
    assert.equal(long.code, "encoder_error");
    assert.match(long.message, /fewer tokens than were sent \(400\); lower the judge's max_tokens/);
    assert.equal(encoder.facts.maxTokens, 511);
  });
});

test("no more tokens are offered than the server takes beside the one it generates", async () => {
  const folders = vllmFolders();
  const server = await startVllmServer({ ...folders, layers: capturedLayers, contextLength: 300 });
  const encoder = vllmEncoder({ url: server.url, root: folders.root, layers: capturedLayers });
  try {
    await encoder.start();
    const { maxTokens } = encoder.facts;
    assert.equal(maxTokens, 299);
    const view = { ...options.view, maxTokens };
    const { encodings } = await encoder.encode(["word ".repeat(3000)], { ...options, view });
    assert.ok(!(encodings[0] instanceof JudgeError));
    assert.equal(encodings[0]!.tokenCount, maxTokens);
  } finally {
    await encoder.close();
    await server.close();
    folders.remove();
  }
});

test("layer_offset moves what a captured id is called, and the last block is not offered", async () => {
  await withVllm({ layerOffset: 1 }, async ({ encoder, server, folders }) => {
    assert.deepEqual(encoder.facts.layers, [1, 5]);
    const plain = vllmEncoder({ url: server.url, root: folders.root, layers: capturedLayers });
    const last = vllmEncoder({ url: server.url, root: folders.root, layers: capturedLayers, layerOffset: 4 });
    try {
      await Promise.all([plain.start(), last.start()]);
      const [moved, straight] = await Promise.all([
        encoder.encode(["a"], { ...options, layers: [1, 5] }),
        plain.encode(["a"], options),
      ]);
      const vectors = ({ encodings }: Awaited<ReturnType<Encoder["encode"]>>) => {
        assert.ok(!(encodings[0] instanceof JudgeError));
        return [...encodings[0]!.pooled.values()];
      };
      assert.deepEqual(vectors(moved), vectors(straight));
      assert.deepEqual(last.facts.layers, [4]);
      assert.notEqual(encoder.facts.hash, plain.facts.hash);
    } finally {
      await Promise.all([plain.close(), last.close()]);
    }
  });
});

test("a start is refused in one line that names the encoder", async () => {
  await withVllm({}, async ({ server, folders: { root, outside } }) => {
    const missing = join(root, "missing");
    writeFileSync(join(outside, "file"), "");
    const [looping, piped] = [join(outside, "looping"), join(outside, "piped")];
    for (const folder of [looping, piped]) cpSync(fixturePath("tiny-encoder"), folder, { recursive: true });
    const loop = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}";
    writeFileSync(join(looping, "chat_template.jinja"), loop);
    rmSync(join(piped, "tokenizer.json"));
    execFileSync("mkfifo", [join(piped, "tokenizer.json")]);
    const given = { url: server.url, root, layers: capturedLayers };
    for (const [changes, message] of [
      [{ folder: missing }, /encoder folder cannot be read/],
      [{ folder: looping }, /the chat template, or a pattern .* has not ended after 1000 ms/],
      [{ folder: piped }, /tokenizer\.json is a pipe, wanted a regular file/],
      [{ hiddenStatesRoot: missing }, /hidden_states_root cannot be read \(ENOENT\)/],
      [{ hiddenStatesRoot: join(outside, "file") }, /hidden_states_root is not a folder/],
      [{ hiddenStatesRoot: outside }, /outside hidden_states_root/],
      [{ servedModel: "other" }, /does not know the model/],
      [{ capturedLayers: [0, 1, 4] }, /of 2 layers, captured_layers names 3/],
      [{ baseUrls: ["http://127.0.0.1:9/v1"] }, /connection refused \(ECONNREFUSED\); start the server/],
      [{ baseUrls: [server.url.replace("/v1", "")] }, /no such path under base_url \(404\); end base_url/],
      [{ baseUrls: [server.url.replace("http", "https")] }, /speaks no TLS \(\w+\); write http:\/\//],
    ] as const) {
      const encoder = vllmEncoder({ ...given, ...changes });
      await assert.rejects(encoder.start(), (error) => {
        assert.ok(error instanceof JudgeError);
        const mayPass = /refused|TLS/.test(error.message);
        assert.equal(error.code, mayPass ? "encoder_down" : "encoder");
        assert.match(error.message, /^encoder far: /);
        assert.match(error.message, message);
        return true;
      });
      assert.equal(encoder.up, false);
      await encoder.close();
    }
  });
});

test("a folder that others can enter is warned of, once", async () => {
  const folders = vllmFolders();
  const server = await startVllmServer({ ...folders, layers: capturedLayers });
  try {
    for (const [mode, count] of [
      [0o755, 1],
      [0o770, 0],
    ] as const) {
      chmodSync(folders.root, mode);
      const warnings: string[] = [];
      const events = vllmEvents({ warning: (finding) => void warnings.push(finding) });
      const encoder = vllmEncoder({ url: server.url, root: folders.root, layers: capturedLayers, events });
      await encoder.start();
      await encoder.close();
      assert.equal(warnings.length, count);
      for (const warning of warnings) assert.match(warning, /every user of this machine can enter/);
    }
  } finally {
    await server.close();
    folders.remove();
  }
});

test("captured layers in another order than rising are warned of at the start, once", async () => {
  for (const [layers, count] of [
    [[4, 0], 1],
    [[0, 4], 0],
    [[4], 0],
  ] as const) {
    const folders = vllmFolders();
    const server = await startVllmServer({ ...folders, layers });
    const warnings: string[] = [];
    const events = vllmEvents({ warning: (finding) => void warnings.push(finding) });
    const encoder = vllmEncoder({ url: server.url, root: folders.root, layers, events });
    try {
      await encoder.start();
      await encoder.encode(["Hi"], { ...options, layers: [4] });
      assert.equal(warnings.length, count, String(layers));
      for (const warning of warnings)
        assert.match(warning, /^captured_layers is not in rising order, .*; put/);
    } finally {
      await encoder.close();
      await server.close();
      folders.remove();
    }
  }
});

const hourAgo = Date.now() / 1000 - 3600;
/** Files that are an hour old, by path below `folder`. */
function leaveOld(folder: string, files: Readonly<Record<string, Uint8Array>>): void {
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
    utimesSync(join(folder, name), hourAgo, hourAgo);
  }
}

test("stale files of the server are swept and told, and a folder that is gone ends nothing", async () => {
  const warnings: string[] = [];
  const swept: Swept[] = [];
  const events = vllmEvents({
    warning: (finding) => void warnings.push(finding),
    swept: (removed) => void swept.push(removed),
  });
  await withVllm({ sweepIntervalMs: 20, staleMs: 5000, events }, async ({ encoder, folders: { root } }) => {
    leaveOld(root, {
      "cmpl-a-0-1b2c3d4e.safetensors": hiddenStatesFile,
      "cmpl-a-0-1b2c3d4e.safetensors.lock": new Uint8Array(0),
      "chatcmpl-b.safetensors": hiddenStatesFile,
      "cmpl-c.safetensors.lock": new Uint8Array(0),
    });
    writeFileSync(join(root, "cmpl-new.safetensors"), hiddenStatesFile);
    writeFileSync(join(root, "cmpl-new.safetensors.lock"), "");
    await until(() => readdirSync(root).length === 2, "the stale files are gone");
    await until(() => swept.length > 0, "the sweep is told");
    const names = ["chatcmpl-b.safetensors", "cmpl-a-0-1b2c3d4e.safetensors", "cmpl-c.safetensors"];
    const [told] = swept;
    assert.deepEqual(
      { ...told, names: told!.names.toSorted() },
      { files: 3, bytes: 2 * hiddenStatesFile.length, names },
    );
    assert.deepEqual(readdirSync(root).sort(), ["cmpl-new.safetensors", "cmpl-new.safetensors.lock"]);
    assert.deepEqual(warnings, []);
    rmSync(root, { recursive: true });
    await until(() => warnings.length > 0, "the missing folder is told");
    assert.deepEqual(warnings, ["stale hidden-state files cannot be removed (ENOENT)"]);
    mkdirSync(root, { mode: 0o700 });
    await encodeOne(encoder);
  });
});

test("a sweep leaves what is not provably the server's", async () => {
  const swept: Swept[] = [];
  const events = vllmEvents({ swept: (removed) => void swept.push(removed) });
  await withVllm({ sweepIntervalMs: 20, staleMs: 5000, events }, async ({ folders: { root, outside } }) => {
    const weights = serializeSafetensors([
      ["weight", { dtype: "F32", shape: [1], data: new Uint8Array(4) }],
      ["hidden_states", { dtype: "F32", shape: [1], data: new Uint8Array(4) }],
    ]);
    const others = {
      // of another name
      "router.safetensors": hiddenStatesFile,
      "model-00001-of-00002.safetensors": hiddenStatesFile,
      "model.safetensors.lock": new Uint8Array(0),
      "my-cmpl-a.safetensors": hiddenStatesFile,
      "cmpl-a.safetensors.bak": hiddenStatesFile,
      // in another folder
      "below/cmpl-a.safetensors": hiddenStatesFile,
      // with another content
      "cmpl-weights.safetensors": weights,
      "cmpl-weights.safetensors.lock": new Uint8Array(0),
      "cmpl-text.safetensors": Buffer.from("12345678 this is none"),
      "cmpl-torn.safetensors": hiddenStatesFile.subarray(0, 20),
      "cmpl-empty.safetensors": new Uint8Array(0),
      "cmpl-note.safetensors.lock": Buffer.from("not a lock"),
    };
    leaveOld(root, others);
    // not a regular file
    writeFileSync(join(outside, "target"), hiddenStatesFile);
    symlinkSync(join(outside, "target"), join(root, "cmpl-link.safetensors"));
    lutimesSync(join(root, "cmpl-link.safetensors"), hourAgo, hourAgo);
    execFileSync("mkfifo", [join(root, "cmpl-pipe.safetensors")]);
    utimesSync(join(root, "cmpl-pipe.safetensors"), hourAgo, hourAgo);
    leaveOld(root, { "cmpl-folder.safetensors/x": new Uint8Array(0) });
    utimesSync(join(root, "cmpl-folder.safetensors"), hourAgo, hourAgo);
    // of another owner; only root can make one
    if (process.getuid!() === 0) {
      leaveOld(root, { "cmpl-foreign.safetensors": hiddenStatesFile });
      chownSync(join(root, "cmpl-foreign.safetensors"), 65_534, 65_534);
    }
    const before = readdirSync(root, { recursive: true }).sort();
    // later in the listing or not, it is removed by the sweep that has looked at all of them
    leaveOld(root, { "cmpl-a.safetensors": hiddenStatesFile });
    await until(() => swept.length > 0, "the server's own file is gone");
    assert.deepEqual(swept[0]!.names, ["cmpl-a.safetensors"]);
    assert.deepEqual(readdirSync(root, { recursive: true }).sort(), before);
  });
});

test("a root that is a parent of the server's folder is refused, and nothing in it is touched", async () => {
  const { root, outside, remove } = vllmFolders();
  const own = join(root, "states");
  mkdirSync(own);
  leaveOld(root, { "data/router.safetensors": hiddenStatesFile, "cmpl-a.safetensors": hiddenStatesFile });
  const server = await startVllmServer({ root: own, outside, layers: capturedLayers });
  const encoder = vllmEncoder({
    url: server.url,
    root,
    layers: capturedLayers,
    sweepIntervalMs: 5,
    staleMs: 1000,
  });
  try {
    await assert.rejects(encoder.start(), {
      message:
        "encoder far: the vLLM server named a file in a folder below hidden_states_root; set it to the server's shared_storage_path",
    });
    await sleep(50);
    assert.deepEqual(readdirSync(root).sort(), ["cmpl-a.safetensors", "data", "states"]);
    assert.deepEqual(readdirSync(join(root, "data")), ["router.safetensors"]);
  } finally {
    await encoder.close();
    await server.close();
    remove();
  }
});

test("a file that the server names and vLLM would not is neither opened nor removed", async () => {
  await withVllm({}, async ({ encoder, server, folders: { root } }) => {
    leaveOld(root, { "router.safetensors": hiddenStatesFile, "router.safetensors.lock": new Uint8Array(0) });
    server.fault = "another file's name";
    const { code, message } = await faultOf(encoder);
    assert.deepEqual([code, /not named cmpl-….safetensors/.test(message)], ["encoder_error", true], message);
    const left = ["router.safetensors", "router.safetensors.lock"];
    assert.deepEqual(
      readdirSync(root)
        .filter((name) => !name.startsWith("cmpl-"))
        .sort(),
      left,
    );
  });
});
