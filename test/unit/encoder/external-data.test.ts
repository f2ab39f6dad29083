// The names of a model's other files, out of its protobuf alone: wherever a tensor can be, and of hostile
// bytes none.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { externalLocations } from "../../../src/encoder/external-data.js";
import { JudgeError } from "../../../src/errors.js";
import { fixturePath, packagePath } from "../../support/fixtures.js";
import { bytesOf, externalTensor, type Message, modelBytes, tensor } from "../../support/onnx/model.js";
import { rejection } from "../../support/refusal.js";

const folder = mkdtempSync(join(tmpdir(), "external-data-"));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, "model.onnx");

function locationsOf(bytes: Uint8Array): Promise<string[]> {
  writeFileSync(file, bytes);
  return externalLocations(file);
}

const weights = (location: string): Message => externalTensor("w", [2], location);
const attribute = (field: number, content: Message): Message => [
  [
    5,
    [
      [1, "value"],
      [field, content],
    ],
  ],
];

test("a tensor is found wherever onnx.proto has one", async () => {
  const sparse = (location: string): Message => [
    [1, weights(`${location}-values`)],
    [2, weights(`${location}-indices`)],
  ];
  const graph: Message = [
    [5, weights("initializer")],
    [15, sparse("sparse")],
    [1, attribute(5, weights("attribute"))],
    [1, attribute(10, weights("attributes"))],
    [1, attribute(22, sparse("in-attribute"))],
    // a branch in a branch
    [1, attribute(6, [[1, attribute(11, [[5, weights("branch")]])]])],
  ];
  const model: Message = [
    [1, 8],
    [7, graph],
    [
      20,
      [
        [1, [[5, weights("training")]]],
        [2, [[5, weights("initializer")]]],
      ],
    ],
    [
      25,
      [
        [7, attribute(5, weights("function"))],
        [11, [[5, weights("default")]]],
      ],
    ],
  ];
  assert.deepEqual(await locationsOf(bytesOf(model)), [
    "attribute",
    "attributes",
    "branch",
    "default",
    "function",
    "in-attribute-indices",
    "in-attribute-values",
    "initializer",
    "sparse-indices",
    "sparse-values",
    "training",
  ]);
});

test("entries of any order are read, and only those of a tensor whose data is elsewhere", async () => {
  const entry = (fields: Message): Message => [[13, fields]];
  const location = entry([
    [2, "first.bin"],
    [1, "location"],
  ]);
  const model = (fields: Message) => bytesOf([[7, [[5, fields]]]]);
  assert.deepEqual(
    await locationsOf(
      model([
        [14, 1],
        ...location,
        ...entry([
          [1, "offset"],
          [2, "0"],
        ]),
      ]),
    ),
    ["first.bin"],
  );
  assert.deepEqual(await locationsOf(model([...location, [14, 1]])), ["first.bin"]);
  assert.deepEqual(await locationsOf(model([...location, [14, 0]])), []);
  assert.deepEqual(await locationsOf(model([...location])), []);
});

test("weights inside, however large, are skipped", async () => {
  const large = tensor("w", 1, [1 << 20], new Uint8Array(4 << 20));
  const model = bytesOf([
    [
      7,
      [
        [5, large],
        [5, weights("behind.bin")],
        [5, large],
      ],
    ],
  ]);
  assert.deepEqual(await locationsOf(model), ["behind.bin"]);
});

test("models with all of their weights inside name no file", async () => {
  for (const path of [
    packagePath("checkpoints/smollm2-135m/encoder/model.onnx"),
    packagePath("checkpoints/minilm-l6/encoder/model.onnx"),
    fixturePath("tiny-encoder/model.onnx"),
  ]) {
    assert.deepEqual(await externalLocations(path), []);
  }
});

test("a file that is cut off or is something else is refused", async () => {
  const whole = modelBytes({ embeddings: externalTensor("embeddings", [1024, 4], "weights.bin") });
  for (const length of [1, whole.length >> 1, whole.length - 1]) {
    const { message } = await rejection("encoder", locationsOf(whole.subarray(0, length)));
    assert.match(message, /is no whole ONNX model/);
  }
  await rejection("encoder", locationsOf(Buffer.from("<!doctype html><title>404</title>")));
  let nested: Message = [[5, weights("deep")]];
  for (let depth = 0; depth < 200; depth++) nested = [[1, attribute(6, nested)]];
  await rejection("encoder", locationsOf(bytesOf([[7, nested]])));
});

test("of any bytes come names or a refusal", async () => {
  const whole = modelBytes({ embeddings: externalTensor("embeddings", [1024, 4], "weights.bin") });
  const noise = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(noise, async (changes) => {
      const bytes = Buffer.from(whole);
      for (const [place, value] of changes) bytes[place] = value;
      try {
        for (const name of await locationsOf(bytes)) assert.ok(name.length > 0);
      } catch (error) {
        if (!(error instanceof JudgeError)) throw error;
      }
    }),
    { numRuns: 300 },
  );
});
