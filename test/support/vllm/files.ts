// The files that the tests' vLLM server leaves: as they should be, and as they should not.
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { serializeSafetensors } from "../../../src/checkpoint/safetensors.js";
import {
  createHiddenStateReader,
  type Expected,
  type HiddenStates,
} from "../../../src/encoder/vllm/hidden-states.js";
import { createWorkSlices } from "../../../src/encoder/vllm/work-slices.js";
import type { WantedFeatures } from "../../../src/features/pooled.js";

/** What the server does wrong, or late. */
export type Fault =
  | "none"
  | "late"
  | "late reply"
  | "slow"
  | "replaced"
  | "partial"
  | "never"
  | "zeroed"
  | "zero rows"
  | "constant"
  | "not finite"
  | "other ids"
  | "missing rows"
  | "missing layer"
  | "trailing bytes"
  | "no safetensors"
  | "outside the root"
  | "outside through a link"
  | "another suffix"
  | "another file's name"
  | "relative path"
  | "no path"
  | "symbolic link"
  | "pipe"
  | "folder"
  | "sparse"
  | "sparse header"
  | "400"
  | "401"
  | "404"
  | "429"
  | "too long"
  | "unknown model"
  | "500"
  | "no JSON"
  | "endless reply"
  | "cut off"
  | "cut off when kept"
  | "switches protocols"
  | "hung"
  | "half a reply";

export type Dtype = "F32" | "BF16" | "F16";

/** of the tiny encoder */
export const hiddenSize = 24;

/** Writes the file as the fault wants it: after the reply, in parts, or as something else. */
export async function leaveFile(
  path: string,
  bytes: Uint8Array,
  fault: Fault,
  outside: string,
): Promise<void> {
  if (fault === "never") return;
  if (fault === "late") await sleep(60);
  if (fault === "slow") {
    for (const share of [0.001, 0.01, 0.3, 0.9]) {
      writeFileSync(path, bytes.subarray(0, Math.ceil(bytes.byteLength * share)));
      await sleep(10);
    }
  }
  if (fault === "replaced") {
    writeFileSync(path, bytes.subarray(0, bytes.byteLength - 1));
    await sleep(40);
  }
  if (fault === "symbolic link") {
    writeFileSync(join(outside, "target.safetensors"), bytes);
    symlinkSync(join(outside, "target.safetensors"), path);
  } else if (fault === "pipe") execFileSync("mkfifo", [path]);
  else if (fault === "folder") mkdirSync(path);
  else if (fault === "no safetensors") writeFileSync(path, "12345678 this is none".repeat(10));
  else if (fault === "partial") writeFileSync(path, bytes.subarray(0, bytes.byteLength - 1));
  else if (fault === "trailing bytes") writeFileSync(path, Buffer.concat([bytes, Buffer.alloc(8)]));
  else if (fault === "sparse" || fault === "sparse header") {
    writeFileSync(path, fault === "sparse" ? bytes : Buffer.from([0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]));
    truncateSync(path, 2 ** 40);
  } else if (["none", "late reply", "cut off when kept", "replaced"].includes(fault)) {
    writeFileSync(`${path}.part`, bytes);
    renameSync(`${path}.part`, path);
  } else writeFileSync(path, bytes);
}

/** What is read of a file with these bytes. */
export function readBytes(
  bytes: Uint8Array,
  expected: Expected,
  wanted: WantedFeatures,
): Promise<HiddenStates> {
  const file = {
    size: bytes.length,
    owner: 0,
    start: bytes,
    async read(into: Uint8Array, position: number) {
      into.set(bytes.subarray(position, position + into.length));
    },
  };
  return createHiddenStateReader(createWorkSlices()).read(
    file,
    expected,
    wanted,
    new AbortController().signal,
  );
}

/** The bytes of the file, with whatever the fault does to its content. */
export function fileOf(
  states: Float32Array,
  ids: readonly number[],
  { fault, dtype }: { fault: Fault; dtype: Dtype },
): Uint8Array {
  const layers = states.length / ids.length / hiddenSize;
  let tokens = ids.length;
  let shape = [tokens, layers, hiddenSize];
  if (fault === "zeroed") states.fill(0);
  if (fault === "constant") states.fill(0.25);
  if (fault === "zero rows") states.fill(0, 0, layers * hiddenSize);
  if (fault === "not finite") states[states.length - 1] = Number.NaN;
  if (fault === "missing rows") {
    tokens--;
    shape = [tokens, layers, hiddenSize];
  }
  if (fault === "missing layer") shape = [tokens, layers - 1, hiddenSize];
  const values = states.subarray(
    0,
    shape.reduce((product, size) => product * size, 1),
  );
  const sent = BigInt64Array.from(ids, BigInt);
  if (fault === "other ids") sent[sent.length - 1]!++;
  return serializeSafetensors([
    ["hidden_states", { dtype, shape, data: encoded(values, dtype) }],
    ["token_ids", { dtype: "I64", shape: [sent.length], data: new Uint8Array(sent.buffer) }],
  ]);
}

function encoded(values: Float32Array, dtype: Dtype): Uint8Array {
  if (dtype === "F32") return new Uint8Array(values.slice().buffer);
  const toBits = dtype === "BF16" ? bfloat16Bits : float16Bits;
  return new Uint8Array(Uint16Array.from(values, toBits).buffer);
}

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/** Rounded to nearest, ties to even. */
function bfloat16Bits(value: number): number {
  single[0] = value;
  const bits = singleBits[0]!;
  return Number.isNaN(value) ? 0x7fc0 : (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/** Of numbers in float16's range. */
function float16Bits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  const exponent = Math.max(Math.floor(Math.log2(size || 1e-10)), -14);
  const steps = Math.round(size / 2 ** (exponent - 10));
  return sign + (steps < 1024 ? steps : ((exponent + 15) << 10) + (steps - 1024));
}
