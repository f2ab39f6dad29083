// The one suite that every adapter of the encoder port must pass.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { EncodeOptions, Encoder, Encoding } from "../../src/encoder/encoder.js";
import type { View } from "../../src/encoder/view.js";
import { JudgeError } from "../../src/errors.js";
import { pooledKey } from "../../src/features/pooled.js";
import { poolingModes } from "../../src/features/pooling.js";
import { largestDifference } from "./fixtures.js";

export interface ContractSubject {
  readonly name: string;
  create(): Encoder;
  readonly view: View;
  /** an encoder of the same kind, and a text on which it fails */
  readonly poison?: { create(): Encoder; readonly text: string };
}

const texts = [
  "Hi",
  "What is 7326 - 147?",
  "Explain the difference between a mutex and a semaphore to a junior developer, with an example in C.",
  "請用中文解釋什麼是傅立葉變換 🙂🚀 e\u0301 \u{1F468}\u200D\u{1F469}\u200D\u{1F467}",
  "def f(x):\r\n\tif x < 2:\r\n\t\treturn x\r\n\treturn f(x-1)+f(x-2)\r\n",
];

export function encoderContract({ name, create, view, poison }: ContractSubject): void {
  describe(`encoder contract: ${name}`, () => {
    let encoder: Encoder;
    let options: EncodeOptions;

    before(async () => {
      encoder = create();
      await encoder.start();
      options = { view, layers: encoder.facts.layers, pooling: poolingModes };
    });
    after(() => encoder.close());

    const encode = async (
      batch: readonly string[],
      changes: Partial<EncodeOptions> = {},
    ): Promise<Encoding[]> => {
      const { encodings } = await encoder.encode(batch, { ...options, ...changes });
      return encodings.map((encoding) => {
        if (encoding instanceof JudgeError) throw encoding;
        return encoding;
      });
    };

    test("knows its facts once started", () => {
      const { facts } = encoder;
      assert.ok(encoder.up);
      assert.ok(facts.hiddenSize > 0 && facts.layers.length > 0 && facts.maxTokens > 0 && facts.threads > 0);
      assert.match(facts.hash, /^[0-9a-f]{16}$/);
      assert.ok(Object.values(facts.files).every((hash) => /^[0-9a-f]{64}$/.test(hash)));
    });

    test("returns every requested layer and pooling mode, and no other", async () => {
      const [all] = await encode([texts[1]!]);
      const keys = encoder.facts.layers.flatMap((layer) =>
        poolingModes.map((mode) => pooledKey(layer, mode)),
      );
      assert.deepEqual([...all!.pooled.keys()].sort(), keys.sort());
      for (const vector of all!.pooled.values()) {
        assert.ok(vector instanceof Float32Array);
        assert.equal(vector.length, encoder.facts.hiddenSize);
        assert.ok(vector.every(Number.isFinite));
      }
      const layer = encoder.facts.layers.at(-1)!;
      const [one] = await encode([texts[1]!], { layers: [layer], pooling: ["mean"] });
      assert.deepEqual([...one!.pooled.keys()], [pooledKey(layer, "mean")]);
      assert.deepEqual(one!.pooled.get(pooledKey(layer, "mean")), all!.pooled.get(pooledKey(layer, "mean")));
    });

    test("gives the same bytes for the same text", async () => {
      const [first] = await encode([texts[2]!]);
      const [second] = await encode([texts[2]!]);
      assert.deepEqual(first!.pooled, second!.pooled);
    });

    test("gives a text in a batch what it gives it alone, within 1e-5 of the vector's size", async (context) => {
      const batch = await encode(texts);
      let largest = 0;
      for (const [index, text] of texts.entries()) {
        const [single] = await encode([text]);
        assert.equal(batch[index]!.tokenCount, single!.tokenCount);
        for (const [key, vector] of single!.pooled) {
          largest = Math.max(largest, relativeDifference(batch[index]!.pooled.get(key)!, vector));
        }
      }
      context.diagnostic(`largest relative difference: ${largest.toExponential(2)}`);
      assert.ok(largest <= 1e-5, `differs by ${largest}`);
    });

    if (poison)
      test("fails a poisoned text alone", async () => {
        const poisonable = poison.create();
        try {
          await poisonable.start();
          const { encodings } = await poisonable.encode(["good", poison.text, "fine"], options);
          const [alone] = (await poisonable.encode(["fine"], options)).encodings as Encoding[];
          assert.ok(!(encodings[0] instanceof JudgeError));
          assert.ok(encodings[1] instanceof JudgeError);
          assert.equal(encodings[1].code, "encoder_error");
          const third = encodings[2] as Encoding;
          for (const [key, vector] of alone!.pooled)
            assert.ok(relativeDifference(third.pooled.get(key)!, vector) <= 1e-5);
        } finally {
          await poisonable.close();
        }
      });

    test("takes lone surrogates, NUL and a byte order mark", async () => {
      for (const text of ["a\ud800b", "a\u0000b", "\ufeffa", "\u200b"]) {
        const [encoding] = await encode([text]);
        assert.ok(encoding!.tokenCount > 0);
      }
    });

    test("counts tokens as tokenize does, and cuts an over-long text to max_tokens", async () => {
      const long = "The quick brown fox jumps over the lazy dog. ".repeat(2000);
      const maxTokens = 100;
      const [tokens] = await encoder.tokenize([long], { ...view, maxTokens });
      const [encoding] = await encode([long], { view: { ...view, maxTokens } });
      assert.ok(!(tokens instanceof JudgeError));
      assert.equal(tokens!.ids.length, maxTokens);
      assert.equal(encoding!.tokenCount, maxTokens);
      assert.ok(encoding!.truncated && tokens!.truncated);
      const [short] = await encode([texts[0]!]);
      assert.equal(short!.truncated, false);
    });

    test("an aborted call ends at once with the signal's reason, and the next one works", async () => {
      const reason = new JudgeError("deadline", { found: "too late" });
      const aborted = AbortSignal.abort(reason);
      await assert.rejects(
        encoder.encode(texts, { ...options, signal: aborted }),
        (error) => error === reason,
      );
      const controller = new AbortController();
      const running = encoder.encode(texts, { ...options, signal: controller.signal });
      controller.abort(reason);
      await assert.rejects(running, (error) => error === reason);
      assert.equal((await encode([texts[0]!])).length, 1);
    });

    test("an empty list is answered with an empty list", async () => {
      assert.deepEqual(await encode([]), []);
    });

    test("refuses after close", async () => {
      const closing = create();
      await closing.start();
      await closing.close();
      assert.equal(closing.up, false);
      await assert.rejects(closing.encode(["Hi"], options), { code: "encoder_down" });
    });
  });
}

/** The largest difference of two vectors, divided by the root mean square of the second one. */
export function relativeDifference(found: Float32Array, wanted: Float32Array): number {
  const norm = Math.sqrt(wanted.reduce((sum, value) => sum + value * value, 0) / wanted.length);
  return largestDifference(found, wanted) / Math.max(norm, 1e-12);
}
