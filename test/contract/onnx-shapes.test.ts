// What a model file must take and give: what is wrong from the start is refused there, and what goes wrong
// later costs its text.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Encoding } from "../../src/encoder/encoder.js";
import { createOnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import type { View } from "../../src/encoder/view.js";
import { JudgeError } from "../../src/errors.js";
import {
  elementTypes,
  hiddenSize,
  type ModelParts,
  modelBytes,
  node,
  tensor,
  value,
  writeEncoder,
} from "../support/onnx/model.js";
import { rejection } from "../support/refusal.js";

const folder = mkdtempSync(join(tmpdir(), "onnx-shapes-"));
after(() => rmSync(folder, { recursive: true }));
const view: View = { template: "chat", maxTokens: 512, truncation: "middle" };
let models = 0;

function create(parts: ModelParts) {
  return createOnnxEncoder({
    id: "subject",
    modelName: null,
    folder: writeEncoder(join(folder, `model-${models++}`), modelBytes(parts)),
    threads: 1,
    processes: 1,
    limits: { maxBatch: 32, maxBatchTokens: 1024, maxWaitMs: 0, queueLimit: 256 },
    events: { up() {}, down() {} },
  });
}

const int64s = (...values: number[]) => new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
/** `embedded` cut to its first tokens. */
const slice = (tokens: number): Pick<ModelParts, "nodes" | "initializers"> => ({
  nodes: [node("Slice", ["embedded", "start", "end", "axis"], "hidden_states.1")],
  initializers: [
    tensor("start", elementTypes.int64, [1], int64s(0)),
    tensor("end", elementTypes.int64, [1], int64s(tokens)),
    tensor("axis", elementTypes.int64, [1], int64s(1)),
  ],
});

test("a model of the contract is taken, and gives each text its own states", async () => {
  const encoder = create({});
  try {
    await encoder.start();
    assert.deepEqual([encoder.facts.hiddenSize, encoder.facts.layers], [hiddenSize, [1]]);
    const options = { view, layers: [1], pooling: ["mean"] } as const;
    const together = (await encoder.encode(["Hello", "a longer text"], options)).encodings as Encoding[];
    for (const [place, text] of ["Hello", "a longer text"].entries()) {
      const [alone] = (await encoder.encode([text], options)).encodings as Encoding[];
      assert.deepEqual(together[place]!.pooled, alone!.pooled);
    }
  } finally {
    await encoder.close();
  }
});

describe("a model is refused at the start", () => {
  const cases: Readonly<Record<string, [parts: ModelParts, finding: RegExp]>> = {
    "that gives every row twice": [
      { nodes: [node("Concat", ["embedded", "embedded"], "hidden_states.1", { axis: 0 })] },
      /output hidden_states\.1 is \[4,3,4\], wanted \[2,3,4\]; export it with .*\[batch, sequence, hidden\]/,
    ],
    "whose batch and sequence are swapped": [
      { nodes: [node("Transpose", ["embedded"], "hidden_states.1", { perm: [1, 0, 2] })] },
      /output hidden_states\.1 is \[3,2,4\], wanted \[2,3,4\]/,
    ],
    "that leaves the last token out": [slice(-1), /output hidden_states\.1 is \[2,2,4\], wanted \[2,3,4\]/],
    "that has pooled already": [
      {
        nodes: [node("ReduceMean", ["embedded"], "hidden_states.1", { axes: [1], keepdims: 0 })],
        outputShape: ["batch", hiddenSize],
      },
      /an output hidden_states\.1 of shape \[batch,4\], without one fixed hidden size/,
    ],
    "with int32 inputs": [
      { inputType: elementTypes.int32 },
      /an input input_ids of int32, wanted int64; export it with inputs/,
    ],
    "for a batch of one size": [
      { inputShape: [1, "sequence"] },
      /an input input_ids of the fixed shape \[1,sequence\]/,
    ],
    "for texts of one length": [
      { inputShape: ["batch", 16] },
      /an input input_ids of the fixed shape \[batch,16\]/,
    ],
    "that cannot run a batch": [
      {
        nodes: [node("Reshape", ["embedded", "shape"], "hidden_states.1")],
        initializers: [tensor("shape", elementTypes.int64, [3], int64s(-1, 5, hiddenSize))],
      },
      /model\.onnx: it cannot run two texts of three tokens together; export it with/,
    ],
    "whose keys of the past do not grow": [
      {
        nodes: [
          node("Identity", ["embedded"], "hidden_states.1"),
          node("Identity", ["past_key_values.0.key"], "present.0.key"),
        ],
        inputs: [value("past_key_values.0.key", elementTypes.float32, ["batch", 1, "past", 2])],
        outputs: [value("present.0.key", elementTypes.float32, ["batch", 1, "past", 2])],
      },
      /output present\.0\.key is \[1,1,0,2\], wanted \[1,1,2,2\]; /,
    ],
    "with a past of integers": [
      { inputs: [value("past_key_values.0.key", elementTypes.int64, ["batch", 1, "past", 2])] },
      /an input past_key_values\.0\.key of int64, wanted float32/,
    ],
    "that strings all texts together": [
      {
        nodes: [node("Reshape", ["embedded", "shape"], "hidden_states.1")],
        initializers: [tensor("shape", elementTypes.int64, [3], int64s(1, -1, hiddenSize))],
      },
      /output hidden_states\.1 is \[1,6,4\], wanted \[2,3,4\]/,
    ],
  };
  for (const [name, [parts, finding]] of Object.entries(cases)) {
    test(name, async () => {
      const encoder = create(parts);
      try {
        assert.match((await rejection("encoder", encoder.start())).message, finding);
      } finally {
        await encoder.close();
      }
    });
  }
});

test("a model that goes wrong with long texts fails those alone, each time, with what it gave", async () => {
  const encoder = create(slice(40));
  try {
    await encoder.start();
    const options = { view, layers: [1], pooling: ["mean"] } as const;
    const [alone] = (await encoder.encode(["Hello"], options)).encodings as Encoding[];
    for (let round = 0; round < 2; round++) {
      const { encodings } = await encoder.encode(["Hello", "one two three ".repeat(20)], options);
      assert.deepEqual((encodings[0] as Encoding).pooled, alone!.pooled);
      const fault = encodings[1];
      assert.ok(fault instanceof JudgeError && fault.code === "encoder_error");
      assert.match(
        fault.message,
        /^the encoder failed on this text: output hidden_states\.1 is \[1,40,4\], wanted \[1,\d+,4\]$/,
      );
    }
  } finally {
    await encoder.close();
  }
});
