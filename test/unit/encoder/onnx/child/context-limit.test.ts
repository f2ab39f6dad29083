// The largest context that runs: the claim itself with one run, else by halves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { usableTokens } from "../../../../../src/encoder/onnx/child/context-limit.js";
import { rejection } from "../../../../support/refusal.js";

async function search(claimed: number, limit: number) {
  const tried: number[] = [];
  const found = await usableTokens(claimed, async (tokens) => {
    tried.push(tokens);
    return tokens <= limit;
  });
  return { found, tried };
}

test("a claim that holds is tried once; one beyond 2,048 tokens, up to these", async () => {
  assert.deepEqual(await search(512, 512), { found: 512, tried: [512] });
  assert.deepEqual(await search(32_768, 2048), { found: 32_768, tried: [2048] });
});

test("a claim that does not hold is the largest that runs, by few runs", async () => {
  for (const [claimed, limit] of [
    [514, 512],
    [514, 513],
    [514, 1],
    [Number.MAX_SAFE_INTEGER, 1024],
    [2048, 2047],
  ] as const) {
    const { found, tried } = await search(claimed, limit);
    assert.equal(found, limit);
    assert.ok(tried.length <= 13, `${tried.length} runs`);
  }
});

test("a model that runs nothing is refused", async () => {
  const { message } = await rejection(
    "encoder",
    usableTokens(16, async () => false),
  );
  assert.match(message, /^model\.onnx cannot run a single token; /);
});
