// Models whose files claim more tokens than they run: the real ones, with a false claim beside them.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { limitWarning } from "../../src/encoder/limit-warning.js";
import { createOnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import { fixturePath, packagePath, readJson } from "../support/fixtures.js";

const folder = mkdtempSync(join(tmpdir(), "judge-limit-"));
after(() => rmSync(folder, { recursive: true }));

/** A copy of the encoder whose files claim so many tokens. */
function claiming(source: string, name: string, tokens: number): string {
  const copy = join(folder, name);
  cpSync(source, copy, { recursive: true, filter: (path) => !path.endsWith(".onnx") });
  symlinkSync(join(source, "model.onnx"), join(copy, "model.onnx"));
  for (const [file, field] of [
    ["config.json", "max_position_embeddings"],
    ["tokenizer_config.json", "model_max_length"],
  ] as const) {
    const path = join(copy, file);
    writeFileSync(path, JSON.stringify({ ...readJson<object>(path), [field]: tokens }));
  }
  return copy;
}

async function withEncoder<T>(
  source: string,
  work: (encoder: ReturnType<typeof createOnnxEncoder>, warnings: readonly string[]) => T,
): Promise<Awaited<T>> {
  const warnings: string[] = [];
  const encoder = createOnnxEncoder({
    id: "subject",
    modelName: null,
    folder: source,
    threads: 2,
    processes: 1,
    limits: { maxBatch: 32, maxBatchTokens: 1024, maxWaitMs: 0, queueLimit: 256 },
    events: { up() {}, down() {}, warning: (finding) => void warnings.push(finding) },
  });
  try {
    await encoder.start();
    return await work(encoder, warnings);
  } finally {
    await encoder.close();
  }
}

const minilm = packagePath("checkpoints/minilm-l6/encoder");

test("514 claimed, 512 run: the limit is 512, with a warning, and the longest view works", async () => {
  await withEncoder(claiming(minilm, "minilm", 514), async (encoder, warnings) => {
    assert.deepEqual([encoder.facts.maxTokens, encoder.facts.claimedTokens], [512, 514]);
    assert.deepEqual(warnings, ["the model's files claim 514 tokens, and it runs 512 at most"]);
    const view = { template: "none", maxTokens: encoder.facts.maxTokens, truncation: "middle" } as const;
    const wanted = { view, layers: [3], pooling: ["mean"] } as const;
    const [encoding] = (await encoder.encode(["word ".repeat(600)], wanted)).encodings;
    assert.ok(encoding !== undefined && "tokenCount" in encoding);
    assert.equal(encoding.tokenCount, 512);
  });
});

test("claims that hold stay, without a warning: an encoder without a past, and a decoder with one", async () => {
  for (const source of [minilm, fixturePath("tiny-encoder")]) {
    await withEncoder(source, ({ facts }, warnings) => {
      assert.deepEqual([facts.maxTokens, facts.claimedTokens, warnings], [512, undefined, []]);
    });
  }
});

test("the words of a limit", () => {
  assert.equal(limitWarning({ maxTokens: 512 }), null);
  assert.equal(
    limitWarning({ maxTokens: 512, claimedTokens: Number.MAX_SAFE_INTEGER }),
    "the model's files name no limit, and it runs 512 at most",
  );
});
