import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadCheckpoint } from "../../../../../src/checkpoint/load.js";
import { readSwitchyard } from "../../../../../src/checkpoint/torch/formats/switchyard.js";
import { writeSwitchyard } from "../../../../../src/checkpoint/torch/formats/switchyard-write.js";
import { writePickle } from "../../../../../src/checkpoint/torch/pickle/pickle-write.js";
import { parseTorchFile } from "../../../../../src/checkpoint/torch/torch-file.js";
import { parseTorchZip } from "../../../../../src/checkpoint/torch/zip/torch-zip.js";
import { pooledKey } from "../../../../../src/features/pooled.js";
import { probabilities } from "../../../../../src/head/head.js";
import type { HeadWeights } from "../../../../../src/head/weights.js";
import { fixturePath, largestDifference } from "../../../../support/fixtures.js";
import { refusal } from "../../../../support/refusal.js";

const parseSwitchyard = (bytes: Uint8Array) => readSwitchyard(parseTorchFile(bytes));

const convertible = [
  "switchyard-0.3.0/two-models.pt",
  "switchyard-0.3.0/four-models.pt",
  "llm-router/v2-one-target.pt",
];

/** Pooled vectors that look like hidden states: the same for every run. */
function pooledFor({ blocks }: HeadWeights, seed: number) {
  return new Map(
    blocks.flatMap(({ layers, pooling, hiddenSize }) =>
      layers.map((layer) => [
        pooledKey(layer, pooling),
        Float32Array.from(
          { length: hiddenSize },
          (_, index) => 3 * Math.sin(seed * 7.3 + layer * 1.7 + index),
        ),
      ]),
    ),
  );
}

for (const name of convertible) {
  test(`${name}: written and read back, the probabilities are the same within 1e-6`, async (context) => {
    const original = await loadCheckpoint(fixturePath(`checkpoints/${name}`));
    const written = parseSwitchyard(writeSwitchyard(original));
    assert.deepEqual(written.head.outputNames, original.head.outputNames);
    assert.equal(written.encoderName, original.encoderName);
    let largest = 0;
    for (let seed = 0; seed < 20; seed++) {
      const pooled = pooledFor(original.head, seed);
      largest = Math.max(
        largest,
        largestDifference(probabilities(written.head, pooled), probabilities(original.head, pooled)),
      );
    }
    context.diagnostic(`largest difference: ${largest.toExponential(2)}`);
    assert.ok(largest <= 1e-6, `differs by ${largest}`);
  });
}

test("the same head is the same file, byte for byte", async () => {
  const checkpoint = await loadCheckpoint(fixturePath(`checkpoints/${convertible[0]}`));
  assert.deepEqual(writeSwitchyard(checkpoint), writeSwitchyard(checkpoint));
});

test("the file has torch's entries, each storage at a multiple of 64", async () => {
  const bytes = writeSwitchyard(await loadCheckpoint(fixturePath(`checkpoints/${convertible[0]}`)));
  const view = new DataView(bytes.buffer);
  let place = 0;
  let storages = 0;
  while (view.getUint32(place, true) === 0x04034b50) {
    const nameSize = view.getUint16(place + 26, true);
    const name = new TextDecoder().decode(bytes.subarray(place + 30, place + 30 + nameSize));
    const begin = place + 30 + nameSize + view.getUint16(place + 28, true);
    assert.equal(begin % 64, 0, name);
    if (/\/data\/\d+$/.test(name)) storages++;
    place = begin + view.getUint32(place + 18, true);
  }
  assert.ok(storages > 10);
  assert.doesNotThrow(() => parseTorchZip(bytes));
});

test("the pickle names only the globals that torch.load(weights_only=True) admits", async () => {
  const bytes = writeSwitchyard(await loadCheckpoint(fixturePath(`checkpoints/${convertible[1]}`)));
  const pickle = new TextDecoder("latin1").decode(parseTorchZip(bytes).pickle);
  const admitted =
    /c(torch\._utils\n_rebuild_tensor_v2|torch\n(Float|Double)Storage|collections\nOrderedDict)\n/g;
  assert.match(pickle, admitted);
  assert.doesNotMatch(pickle.replace(admitted, ""), /c[\w.]+\n\w+\n/);
});

test("numbers of every size are written as Python's pickle writes them", () => {
  const { bytes } = writePickle([0, 255, 256, 65_535, 65_536, -1, 0.5, true, null]);
  const hex = Buffer.from(bytes).toString("hex");
  assert.equal(hex, "80025d284b004bff4d00014dffff4a000001004affffffff473fe0000000000000884e652e");
});

describe("a head that the format cannot hold is refused with the reason", () => {
  const cases: Readonly<Record<string, [file: string, reason: RegExp]>> = {
    "mean pooling": ["router-json-v1", /its pooling is mean, wanted last/],
    "several blocks": ["llm-router/v2-per-target.pt", /feature blocks, wanted 1/],
  };
  for (const [name, [file, reason]] of Object.entries(cases)) {
    test(name, async () => {
      const checkpoint = await loadCheckpoint(fixturePath(`checkpoints/${file}`));
      assert.match(refusal("checkpoint", () => writeSwitchyard(checkpoint)).message, reason);
    });
  }
  test("layers side by side, other depths, calibration", async () => {
    const checkpoint = await loadCheckpoint(fixturePath(`checkpoints/${convertible[2]}`));
    const { head } = checkpoint;
    const [block] = head.blocks;
    const refused = (changes: Partial<HeadWeights>) =>
      refusal("checkpoint", () => writeSwitchyard({ ...checkpoint, head: { ...head, ...changes } })).message;
    assert.match(
      refused({ blocks: [{ ...block!, layers: [1, 2], combination: { kind: "concat" } }] }),
      /side by side/,
    );
    assert.match(refused({ calibration: [{ slope: 1, intercept: 0 }] }), /calibrated/);
    const members = head.members.map((member) =>
      member.kind === "shared" ? { ...member, layers: member.layers.slice(0, 2) } : member,
    );
    assert.match(refused({ members }), /two hidden layers/);
    const dated = { ...checkpoint, chatTemplateKwargs: { date_string: "26 Jul 2024" } };
    assert.match(
      refusal("checkpoint", () => writeSwitchyard(dated)).message,
      /its chat template has arguments/,
    );
  });
});
