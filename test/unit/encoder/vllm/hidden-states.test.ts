// Damaged hidden-state files: each is refused in the project's own words or read as finite vectors, whatever its bytes are.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import type { Expected } from "../../../../src/encoder/vllm/hidden-states.js";
import type { Wanted } from "../../../../src/encoder/vllm/row-pooling.js";
import { JudgeError } from "../../../../src/errors.js";
import { fixturePath, tinyRows } from "../../../support/fixtures.js";
import { readBytes } from "../../../support/vllm-files.js";
import { rejection } from "../../refusal.js";

const whole = new Uint8Array(readFileSync(fixturePath("vllm/bfloat16-0.safetensors")));
const { input_ids: ids } = tinyRows().find(({ prompt }) => prompt === "Hi")!;
const expected: Expected = { ids, captured: [0, 1, 4, 8], hiddenSize: 24 };
const wanted: Wanted = { layers: expected.captured, pooling: ["mean", "last"] };

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
