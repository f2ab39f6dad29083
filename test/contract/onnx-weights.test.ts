// A model whose weights lie in other files: they are read once, into memory, and are part of what the encoder
// is.
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Encoder, Encoding } from "../../src/encoder/encoder.js";
import { createOnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import type { View } from "../../src/encoder/view.js";
import {
  embeddingShape,
  embeddingValues,
  externalTensor,
  modelBytes,
  writeEncoder,
} from "../support/onnx/model.js";
import { rejection } from "../support/refusal.js";

const folder = mkdtempSync(join(tmpdir(), "onnx-weights-"));
after(() => rmSync(folder, { recursive: true }));
const view: View = { template: "chat", maxTokens: 512, truncation: "middle" };
const options = { view, layers: [1], pooling: ["mean"] } as const;
const names = ["weights.bin", "model.onnx_data_1", "7f3c6a1e-0b7d-4d0e-9d38-5d2f5a6c1b11.data", "sub/w.bin"];
let folders = 0;

function external(location: string, seed = 1, others: Readonly<Record<string, Uint8Array>> = {}): string {
  const model = modelBytes({ embeddings: externalTensor("embeddings", embeddingShape, location) });
  const files = { [location]: embeddingValues(seed), ...others };
  return writeEncoder(join(folder, `encoder-${folders++}`), model, files);
}

function create(path: string, events = new EventEmitter(), processes = 1) {
  return createOnnxEncoder({
    id: "subject",
    modelName: null,
    folder: path,
    threads: 1,
    processes,
    limits: { maxBatch: 32, maxBatchTokens: 1024, maxWaitMs: 0, queueLimit: 256 },
    events: { up: () => events.emit("up"), down: (how) => events.emit("down", how) },
    backOffMs: [1],
  });
}

async function read(encoder: Encoder, text = "Hello"): Promise<readonly number[]> {
  const { encodings } = await encoder.encode([text], options);
  return [...(encodings[0] as Encoding).pooled.get("1.mean")!];
}

/** Overwrites all weights in their file, without another file in its place. */
function overwrite(file: string, seed: number): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, embeddingValues(seed));
  closeSync(descriptor);
}

test("whatever the file is called, it is part of the encoder's identity and gives its weights", async () => {
  const inside = create(writeEncoder(join(folder, "inside"), modelBytes()));
  try {
    await inside.start();
    const wanted = await read(inside);
    for (const name of names) {
      const [one, other] = [create(external(name)), create(external(name, 2))];
      try {
        await Promise.all([one.start(), other.start()]);
        assert.deepEqual(await read(one), wanted, name);
        assert.notDeepEqual(await read(other), wanted, name);
        assert.equal(one.facts.files["model.onnx"], other.facts.files["model.onnx"]);
        assert.notEqual(one.facts.files[name], other.facts.files[name]);
        assert.notEqual(one.facts.hash, other.facts.hash);
        assert.deepEqual(one.facts.weightFiles, ["model.onnx", name]);
      } finally {
        await Promise.all([one.close(), other.close()]);
      }
    }
  } finally {
    await inside.close();
  }
});

test("a write into the file changes no answer of the model that is in use", async () => {
  const path = external("weights.bin");
  const encoder = create(path);
  try {
    await encoder.start();
    const before = await read(encoder);
    overwrite(join(path, "weights.bin"), 2);
    assert.deepEqual(await read(encoder), before);
    assert.notDeepEqual(await read(encoder, "another text"), before);
  } finally {
    await encoder.close();
  }
});

test("after a write a process that starts again is refused, and taken again once the file is restored", async () => {
  const path = external("weights.bin");
  const events = new EventEmitter();
  const encoder = create(path, events);
  try {
    await encoder.start();
    const before = await read(encoder);
    overwrite(join(path, "weights.bin"), 2);
    const died = once(events, "down");
    process.kill(encoder.pids[0]!, "SIGKILL");
    await died;
    const [{ reason }] = (await once(events, "down")) as [{ reason: string }];
    assert.match(reason, /files have changed since the start; reload/);
    const up = once(events, "up");
    overwrite(join(path, "weights.bin"), 1);
    await up;
    assert.deepEqual(await read(encoder), before);
  } finally {
    await encoder.close();
  }
});

describe("weights are refused in one line", () => {
  test("that are missing", async () => {
    const path = external("weights.bin");
    rmSync(join(path, "weights.bin"));
    const { message } = await rejection("encoder", create(path).start());
    assert.match(message, /weights\.bin.* is missing; /);
  });

  test("that are no file, or too short", async () => {
    const folderInstead = external("weights.bin", 1, { "other/file": new Uint8Array(1) });
    rmSync(join(folderInstead, "weights.bin"));
    writeEncoder(
      folderInstead,
      modelBytes({ embeddings: externalTensor("embeddings", embeddingShape, "other") }),
    );
    assert.match(
      (await rejection("encoder", create(folderInstead).start())).message,
      /^encoder subject: other/,
    );
    const short = external("weights.bin");
    writeEncoder(
      short,
      modelBytes({ embeddings: externalTensor("embeddings", embeddingShape, "weights.bin", 4096) }),
    );
    assert.match(
      (await rejection("encoder", create(short).start())).message,
      /cannot be loaded by onnxruntime/,
    );
  });

  for (const location of [
    "../weights.bin",
    "/etc/hostname",
    "./weights.bin",
    "sub/../weights.bin",
    "..",
    "",
  ]) {
    test(`that lie in ${JSON.stringify(location)}`, async () => {
      const model = modelBytes({ embeddings: externalTensor("embeddings", embeddingShape, location) });
      const path = writeEncoder(join(folder, `encoder-${folders++}`), model);
      const { message } = await rejection("encoder", create(path).start());
      assert.match(message, /keeps weights in ".*", wanted a file of its own folder/);
    });
  }
});
