// Writes small ONNX models: the protobuf's bytes, by the field numbers of onnx.proto.
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fixturePath } from "../fixtures.js";

type Field = [number: number, value: number | string | Uint8Array | Message];
export type Message = readonly Field[];

/** hidden values of a token in the models that are written here */
export const hiddenSize = 4;
/** at least the tokens of the tiny encoder's tokenizer */
const vocabulary = 1024;
const [float32, int32, int64] = [1, 6, 7];
export const elementTypes = { float32, int32, int64 } as const;

export function bytesOf(message: Message): Buffer {
  return Buffer.concat(
    message.map(([number, value]) => {
      if (typeof value === "number") return Buffer.concat([varint(number * 8), varint(value)]);
      const content =
        typeof value === "string" ? Buffer.from(value) : value instanceof Uint8Array ? value : bytesOf(value);
      return Buffer.concat([varint(number * 8 + 2), varint(content.length), content]);
    }),
  );
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

/** An attribute of one whole number, or of several. */
function attribute(name: string, value: number | readonly number[]): Message {
  if (typeof value === "number")
    return [
      [1, name],
      [3, value],
      [20, 2],
    ];
  return [[1, name], ...value.map((entry): Field => [8, entry]), [20, 7]];
}

export function node(
  operator: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, number | readonly number[]>> = {},
): Message {
  return [
    ...inputs.map((input): Field => [1, input]),
    [2, output],
    [4, operator],
    ...Object.entries(attributes).map(([name, value]): Field => [5, attribute(name, value)]),
  ];
}

export function tensor(name: string, type: number, shape: readonly number[], data: Uint8Array): Message {
  return [...shape.map((size): Field => [1, size]), [2, type], [8, name], [9, data]];
}

export function externalTensor(name: string, shape: readonly number[], location: string, at = 0): Message {
  const entry = (key: string, value: string): Field => [
    13,
    [
      [1, key],
      [2, value],
    ],
  ];
  const length = 4 * shape.reduce((product, size) => product * size, 1);
  return [
    ...shape.map((size): Field => [1, size]),
    [2, float32],
    [8, name],
    entry("location", location),
    entry("offset", String(at)),
    entry("length", String(length)),
    [14, 1],
  ];
}

export function value(name: string, type: number, shape: readonly (string | number)[]): Message {
  const dimensions = shape.map((size): Field => [1, [typeof size === "number" ? [1, size] : [2, size]]]);
  return [
    [1, name],
    [
      2,
      [
        [
          1,
          [
            [1, type],
            [2, dimensions],
          ],
        ],
      ],
    ],
  ];
}

export interface ModelParts {
  /** from `embedded` [batch, sequence, hiddenSize] to `hidden_states.1` */
  readonly nodes?: readonly Message[];
  readonly initializers?: readonly Message[];
  /** of the embeddings [vocabulary, hiddenSize] */
  readonly embeddings?: Message;
  readonly inputType?: number;
  readonly inputShape?: readonly (string | number)[];
  readonly outputShape?: readonly (string | number)[];
  /** further inputs and outputs */
  readonly inputs?: readonly Message[];
  readonly outputs?: readonly Message[];
}

export const embeddingShape = [vocabulary, hiddenSize] as const;

/** Other values for other seeds, so that models can be told apart. */
export function embeddingValues(seed: number): Uint8Array {
  const values = Float32Array.from({ length: vocabulary * hiddenSize }, (_, index) =>
    Math.sin(seed + index * 0.37),
  );
  return new Uint8Array(values.buffer);
}

/** A model of the contract whose hidden state 1 are embeddings, unless the parts say otherwise. */
export function modelBytes({
  nodes = [node("Identity", ["embedded"], "hidden_states.1")],
  initializers = [],
  embeddings = tensor("embeddings", float32, embeddingShape, embeddingValues(1)),
  inputType = int64,
  inputShape = ["batch", "sequence"],
  outputShape = ["rows", "tokens", hiddenSize],
  inputs = [],
  outputs = [],
}: ModelParts = {}): Buffer {
  const graph: Message = [
    [1, node("Gather", ["embeddings", "input_ids"], "embedded")],
    ...nodes.map((entry): Field => [1, entry]),
    [2, "graph"],
    [5, embeddings],
    ...initializers.map((entry): Field => [5, entry]),
    [11, value("input_ids", inputType, inputShape)],
    [11, value("attention_mask", inputType, inputShape)],
    ...inputs.map((entry): Field => [11, entry]),
    [12, value("hidden_states.1", float32, outputShape)],
    ...outputs.map((entry): Field => [12, entry]),
  ];
  return bytesOf([
    [1, 8],
    [7, graph],
    [
      8,
      [
        [1, ""],
        [2, 17],
      ],
    ],
  ]);
}

/** Makes `folder` an encoder folder with this model, the tiny encoder's tokenizer, and other files. */
export function writeEncoder(
  folder: string,
  model: Uint8Array,
  others: Readonly<Record<string, Uint8Array>> = {},
): string {
  cpSync(fixturePath("tiny-encoder"), folder, { recursive: true });
  rmSync(join(folder, "expected.json"));
  for (const [name, content] of Object.entries({ "model.onnx": model, ...others })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}
