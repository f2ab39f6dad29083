// Damaged hidden-state files: each is refused in the project's own words or read as finite vectors, whatever
// its bytes are. Reading: no buffer is used again while a read still fills it, and a read that fails ends its
// own call only.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { serializeSafetensors } from "../../../../src/checkpoint/safetensors.js";
import type { WholeFile } from "../../../../src/encoder/vllm/hidden-state-file.js";
import { createHiddenStateReader, type Expected } from "../../../../src/encoder/vllm/hidden-states.js";
import { createWorkSlices } from "../../../../src/encoder/vllm/work-slices.js";
import { JudgeError } from "../../../../src/errors.js";
import type { WantedFeatures } from "../../../../src/features/pooled.js";
import { fixturePath, tinyRows } from "../../../support/fixtures.js";
import { rejection } from "../../../support/refusal.js";
import { readBytes } from "../../../support/vllm/files.js";

const whole = new Uint8Array(readFileSync(fixturePath("vllm/bfloat16-0.safetensors")));
const { input_ids: ids } = tinyRows().find(({ prompt }) => prompt === "Hi")!;
const expected: Expected = { ids, captured: [0, 1, 4, 8], hiddenSize: 24 };
const wanted: WantedFeatures = { layers: expected.captured, pooling: ["mean", "last"] };

test("changed, cut and lengthened files are refused or finite", async (context) => {
  const changes = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 4 });
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(changes, fc.integer({ min: -40, max: 8 }), async (bytes, growth) => {
      const file = new Uint8Array(whole.length + growth);
      file.set(whole.subarray(0, file.length));
      for (const [place, byte] of bytes) if (place < file.length) file[place] = byte;
      try {
        const { pooled } = await readBytes(file, expected, wanted);
        for (const vector of pooled.values())
          assert.ok(vector.length === 24 && vector.every(Number.isFinite));
      } catch (error) {
        assert.ok(error instanceof JudgeError, String(error));
        assert.equal(error.code, "encoder_error");
        refused++;
      }
    }),
    { numRuns: 1000 },
  );
  context.diagnostic(`refused ${refused} of 1000`);
  assert.ok(refused > 100 && refused < 1000);
});

test("what does not fit the request is told by what was found and wanted", async () => {
  for (const [changes, message] of [
    [{ ids: ids.slice(1) }, /other token ids than were sent: 19, wanted 18/],
    [{ captured: [0, 1, 4] }, /of 4 layers, captured_layers names 3/],
    [{ hiddenSize: 32 }, /of hidden size 24, at the start it was 32/],
  ] as const) {
    const error = await rejection("encoder_error", readBytes(whole, { ...expected, ...changes }, wanted));
    assert.match(error.message, message);
  }
});

/** Two pieces of 1 MiB and a half: in every row `value`, its double and so on. */
function largeFile(value: number): { bytes: Uint8Array; expected: Expected } {
  const tokens = 640;
  const states = Float32Array.from({ length: tokens * 1024 }, (_, index) => value * (1 + (index % 1024)));
  const sent = BigInt64Array.from({ length: tokens }, (_, index) => BigInt(index));
  const bytes = serializeSafetensors([
    ["hidden_states", { dtype: "F32", shape: [tokens, 1, 1024], data: new Uint8Array(states.buffer) }],
    ["token_ids", { dtype: "I64", shape: [tokens], data: new Uint8Array(sent.buffer) }],
  ]);
  return { bytes, expected: { ids: Array.from(sent, Number), captured: [0], hiddenSize: 1024 } };
}

const largeWanted: WantedFeatures = { layers: [0], pooling: ["mean"] };

/**
 * The file with these bytes, which awaits `onPiece` before, and `onFilled` after, a read of more than its
 * start.
 */
function pieceFile(
  bytes: Uint8Array,
  onPiece: (piece: number) => Promise<void> | void,
  onFilled: () => Promise<void> | void = () => {},
): WholeFile {
  const start = bytes.subarray(0, 1 << 16);
  let pieces = 0;
  return {
    size: bytes.length,
    owner: 0,
    start,
    async read(into, position) {
      const isPiece = into.length > start.length;
      if (isPiece) await onPiece(++pieces);
      into.set(bytes.subarray(position, position + into.length));
      if (isPiece) await onFilled();
    },
  };
}

test("a read that fails while the piece before it waits ends its own call, and not the process", async () => {
  const { bytes, expected: large } = largeFile(1);
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    const file = pieceFile(bytes, (piece) => {
      if (piece === 2) throw new JudgeError("encoder_error", { found: "cut" });
    });
    const reader = createHiddenStateReader(createWorkSlices());
    const { signal } = new AbortController();
    await rejection("encoder_error", reader.read(file, large, largeWanted, signal));
    await new Promise(setImmediate);
    assert.deepEqual(unhandled, []);
  } finally {
    process.off("unhandledRejection", note);
  }
});

for (const code of ["deadline", "encoder_error"] as const) {
  test(`a call that ends early by ${code} keeps its buffers until its last read is over`, async () => {
    const controller = new AbortController();
    const reader = createHiddenStateReader(createWorkSlices());
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    // zeros are refused while the second piece is being read
    const { bytes, expected: large } = largeFile(code === "encoder_error" ? 0 : 1);
    const early = pieceFile(bytes, (piece) => {
      if (piece === 1) return;
      if (code === "deadline") controller.abort(new JudgeError(code, { found: "late" }));
      return released;
    });
    const ended = rejection(code, reader.read(early, large, largeWanted, controller.signal));
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    const good = largeFile(7);
    const other = pieceFile(
      good.bytes,
      () => {},
      async () => {
        release();
        await ended;
      },
    );
    const { signal } = new AbortController();
    const { pooled } = await reader.read(other, good.expected, largeWanted, signal);
    for (const vector of pooled.values())
      assert.ok(vector.every((value, index) => value === 7 * (1 + index)));
  });
}
