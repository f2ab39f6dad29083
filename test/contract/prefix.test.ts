// The prefix cache of decoders: past keys and values instead of the template's tokens change no result, and
// save their run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeBatch } from "../../src/encoder/onnx/child/batch.js";
import { readEncoderFolder } from "../../src/encoder/onnx/child/folder.js";
import type { Padding } from "../../src/encoder/onnx/child/padding.js";
import { loadSession, type OnnxSession } from "../../src/encoder/onnx/child/session.js";
import { createTokenizer } from "../../src/encoder/tokenizer/tokenizer.js";
import type { View } from "../../src/encoder/view.js";
import { JudgeError } from "../../src/errors.js";
import { relativeDifference } from "../support/encoder-contract.js";
import { fixturePath, packagePath } from "../support/fixtures.js";

const chat: View = { template: "chat", maxTokens: 512, truncation: "middle" };
const padding: Padding = { side: "right", padId: 0 };
const texts = [
  "What is the capital of France?",
  "a",
  "\n\nstarts with newlines, which may merge with the template's last token",
  " starts with a blank",
  "数学 ".repeat(60),
  "Write a program that prints the first hundred prime numbers. ".repeat(4),
];

for (const [name, folder] of [
  ["tiny-encoder", fixturePath("tiny-encoder")],
  ["smollm2-135m", packagePath("checkpoints/smollm2-135m/encoder")],
] as const) {
  test(`${name}: with the prefix remembered every pooled vector is the same, in a batch and alone`, async (context) => {
    const files = await readEncoderFolder(folder);
    const tokenizer = createTokenizer(files.tokenizer);
    const session = await loadSession(files.modelFile, 2);
    try {
      const prefix = tokenizer.sharedPrefix(chat);
      assert.ok(prefix.length >= 4, `the template starts with ${prefix.length} tokens`);
      const runs: { prefix: number }[] = [];
      const watched: OnnxSession = {
        ...session,
        run(batch, wanted, side, ids) {
          runs.push({ prefix: ids?.length ?? 0 });
          return session.run(batch, wanted, side, ids);
        },
      };
      const clock = () => performance.now();
      const parts = { tokenizer, session: watched, padding, clock };
      const withoutPrefix = { ...parts, session, tokenizer: { ...tokenizer, sharedPrefix: () => [] } };
      const work = {
        wanted: { layers: session.layers, pooling: ["mean", "last"] as const },
        maxBatchTokens: 4096,
      };
      const expected = await encodeBatch(withoutPrefix, texts, chat, work);
      const together = await encodeBatch(parts, texts, chat, work);
      assert.ok(runs.some((run) => run.prefix === prefix.length));
      const alone = await Promise.all(texts.map((text) => encodeBatch(parts, [text], chat, work)));
      let largest = 0;
      for (const [index, entry] of expected.encodings.entries()) {
        assert.ok(!(entry instanceof JudgeError));
        for (const found of [together.encodings[index]!, alone[index]!.encodings[0]!]) {
          assert.ok(!(found instanceof JudgeError));
          assert.deepEqual([found.tokenCount, found.truncated], [entry.tokenCount, entry.truncated]);
          for (const [key, vector] of entry.pooled) {
            largest = Math.max(largest, relativeDifference(found.pooled.get(key)!, vector));
          }
        }
      }
      context.diagnostic(`largest relative difference: ${largest.toExponential(2)}`);
      assert.ok(largest <= 1e-5, `differs by ${largest}`);
    } finally {
      await session.close();
    }
  });
}
