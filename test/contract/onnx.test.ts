// The ONNX adapter on the tiny encoder and on both embedded ones: the contract, the tiny encoder's reference
// values, and padding on either side.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Encoding } from "../../src/encoder/encoder.js";
import { createOnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import type { View } from "../../src/encoder/view.js";
import { JudgeError } from "../../src/errors.js";
import { pooledKey } from "../../src/features/pooled.js";
import { encoderContract, relativeDifference } from "../support/encoder-contract.js";
import { fixturePath, largestDifference, packagePath, parityRows, tinyRows } from "../support/fixtures.js";
import { writePoisonable } from "../support/poisonable.js";
import { rejection } from "../support/refusal.js";
import { writeSameEmbedding } from "../support/same-embedding.js";

const chat: View = { template: "chat", maxTokens: 512, truncation: "middle" };
const subjects = [
  { name: "tiny-encoder", folder: fixturePath("tiny-encoder"), view: chat },
  { name: "smollm2-135m", folder: packagePath("checkpoints/smollm2-135m/encoder"), view: chat },
  {
    name: "minilm-l6",
    folder: packagePath("checkpoints/minilm-l6/encoder"),
    view: { ...chat, template: "none" },
  },
] as const;

interface Kind {
  readonly paddingSide?: "left" | "right";
  readonly processes?: number;
}

function create(folder: string, { paddingSide = "right", processes = 1 }: Kind = {}) {
  return createOnnxEncoder({
    id: "subject",
    modelName: null,
    folder,
    threads: 2,
    processes,
    limits: { maxBatch: 32, maxBatchTokens: 1024, maxWaitMs: 0, queueLimit: 256 },
    events: { up() {}, down() {} },
    paddingSide,
  });
}

const poisonable = writePoisonable(mkdtempSync(join(tmpdir(), "poison-")));
after(() => rmSync(poisonable, { recursive: true }));
for (const { name, folder, view } of subjects) {
  const poison = { create: () => create(poisonable), text: "bad <poison>" };
  encoderContract({ name, view, create: () => create(folder), ...(name === "tiny-encoder" && { poison }) });
}

test("a folder that changes while it is read is not taken for what it was", async () => {
  const folder = mkdtempSync(join(tmpdir(), "changing-"));
  cpSync(fixturePath("tiny-encoder"), folder, { recursive: true });
  const encoder = create(folder);
  try {
    const starting = rejection("encoder", encoder.start());
    // by then it has looked at them once
    while (encoder.pids.length === 0) await setTimeout(1);
    cpSync(fixturePath("tiny-encoder/model.onnx"), join(folder, "new.tmp"));
    renameSync(join(folder, "new.tmp"), join(folder, "model.onnx"));
    assert.match((await starting).message, /changed while they were read/);
  } finally {
    await encoder.close();
    rmSync(folder, { recursive: true });
  }
});

for (const [name, value] of [
  ["zeros", 0],
  ["one value", 0.25],
] as const) {
  test(`hidden states of ${name} are an error of each text, and not of the layers that are sound`, async () => {
    const folder = writeSameEmbedding(mkdtempSync(join(tmpdir(), "same-")), value);
    const encoder = create(folder);
    try {
      await encoder.start();
      const texts = ["Hi", "What is the capital of France?"];
      for (const mode of ["mean", "last"] as const) {
        const { encodings } = await encoder.encode(texts, { view: chat, layers: [0, 3], pooling: [mode] });
        for (const found of encodings) {
          assert.ok(found instanceof JudgeError && found.code === "encoder_error");
          assert.match(found.message, /one value throughout/);
        }
      }
    } finally {
      await encoder.close();
      rmSync(folder, { recursive: true });
    }
  });
}

test("a text of which the vocabulary knows nothing is told; one known character is a text", async () => {
  const { folder, view } = subjects[2];
  const encoder = create(folder);
  try {
    await encoder.start();
    const unknown = ["\ue000", "\u0301\u0301", "x".repeat(120), "\ue000 \ue001"];
    const { encodings } = await encoder.encode(["Hi", ...unknown, "\ue000?"], {
      view,
      layers: [3],
      pooling: ["mean"],
    });
    assert.deepEqual(
      encodings.map((found) => (found as Encoding).unreadable === true),
      [false, ...unknown.map(() => true), false],
    );
  } finally {
    await encoder.close();
  }
});

for (const paddingSide of ["left", "right"] as const) {
  test(`tiny-encoder, padded on the ${paddingSide}: every layer and mode equals the reference within 1e-4`, async (context) => {
    const encoder = create(fixturePath("tiny-encoder"), { paddingSide });
    try {
      await encoder.start();
      const rows = tinyRows();
      const { encodings } = await encoder.encode(
        rows.map((row) => row.prompt),
        { view: chat, layers: encoder.facts.layers, pooling: ["mean", "last"] },
      );
      let largest = 0;
      for (const [index, row] of rows.entries()) {
        const { pooled, tokenCount } = encodings[index] as Encoding;
        assert.equal(tokenCount, row.input_ids.length);
        for (const layer of encoder.facts.layers) {
          for (const mode of ["mean", "last"] as const) {
            const difference = largestDifference(pooled.get(pooledKey(layer, mode))!, row[mode][layer]!);
            largest = Math.max(largest, difference);
          }
        }
      }
      context.diagnostic(`largest difference: ${largest.toExponential(2)}`);
      assert.ok(largest <= 1e-4, `differs by ${largest}`);
    } finally {
      await encoder.close();
    }
  });
}

for (const { name, folder, view } of subjects.slice(1)) {
  test(`${name}: padding on the left changes nothing beyond 1e-5`, async (context) => {
    const left = create(folder, { paddingSide: "left" });
    const right = create(folder);
    try {
      await Promise.all([left.start(), right.start()]);
      const texts = parityRows(name as "smollm2-135m")
        .slice(0, 6)
        .map((row) => row.prompt);
      const options = { view, layers: left.facts.layers.slice(-1), pooling: ["mean", "last"] } as const;
      const [fromLeft, fromRight] = await Promise.all([
        left.encode(texts, options),
        right.encode(texts, options),
      ]);
      let largest = 0;
      fromLeft.encodings.forEach((encoding, index) => {
        for (const [key, vector] of (encoding as Encoding).pooled) {
          const other = (fromRight.encodings[index] as Encoding).pooled.get(key)!;
          largest = Math.max(largest, relativeDifference(vector, other));
        }
      });
      context.diagnostic(`largest relative difference: ${largest.toExponential(2)}`);
      assert.ok(largest <= 1e-5, `differs by ${largest}`);
    } finally {
      await Promise.all([left.close(), right.close()]);
    }
  });
}

test("two processes give what one gives, to the last bit, and one of them is enough", async () => {
  const [one, two] = [
    create(fixturePath("tiny-encoder")),
    create(fixturePath("tiny-encoder"), { processes: 2 }),
  ];
  try {
    await Promise.all([one.start(), two.start()]);
    assert.deepEqual([one.facts.processes, two.facts.processes], [1, 2]);
    assert.equal(two.facts.hash, one.facts.hash);
    const texts = tinyRows().map((row) => row.prompt);
    const wanted = { view: chat, layers: one.facts.layers, pooling: ["mean", "last"] } as const;
    const { encodings } = await one.encode(texts, wanted);
    assert.deepEqual((await two.encode(texts, wanted)).encodings, encodings);
    const [killed, left] = two.pids;
    process.kill(killed!, "SIGKILL");
    while (two.pids.includes(killed!)) await setTimeout(5);
    assert.equal(two.up, true);
    assert.ok(two.pids.includes(left!));
    assert.deepEqual((await two.encode(texts, wanted)).encodings, encodings);
  } finally {
    await Promise.all([one.close(), two.close()]);
  }
});
