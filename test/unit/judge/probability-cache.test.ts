import assert from "node:assert/strict";
import { test } from "node:test";
import { loadCheckpoint } from "../../../src/checkpoint/load.js";
import type { Encoder } from "../../../src/encoder/encoder.js";
import { createJudge } from "../../../src/judge/judge.js";
import { createProbabilityCache, type Remembered } from "../../../src/judge/probability-cache.js";
import { fixturePath } from "../../support/fixtures.js";
import { tinyEncoder, tinyParts } from "../../support/tiny.js";

const result = (value: number): Remembered => ({ raw: Float64Array.of(value), tokens: 1, truncated: false });

test("a text is found under its scope alone", () => {
  const cache = createProbabilityCache(10_000);
  cache.keep("a", "text", result(0.5));
  assert.deepEqual(cache.find("a", "text"), result(0.5));
  assert.equal(cache.find("b", "text"), undefined);
  assert.equal(cache.find("a", "tex"), undefined);
  assert.equal(cache.find("at", "ext"), undefined);
});

test("the least recently used go when the bytes are full", () => {
  const cache = createProbabilityCache(3000);
  for (const text of ["a", "b", "c"]) cache.keep("", text, result(1));
  assert.ok(cache.find("", "a"));
  cache.keep("", "d", result(1));
  assert.deepEqual(
    ["a", "b", "c", "d"].map((text) => cache.find("", text) !== undefined),
    [true, false, true, true],
  );
});

test("no bytes, nothing kept", () => {
  const cache = createProbabilityCache(0);
  cache.keep("", "a", result(1));
  assert.equal(cache.find("", "a"), undefined);
});

test("a judge runs a text once; another output, head or calibration is computed from the same run or not at all", async () => {
  const checkpoint = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));
  const real = tinyEncoder();
  await real.start();
  const asked: (readonly string[])[] = [];
  const encoder: Encoder = Object.create(real, {
    encode: {
      value: (...parameters: Parameters<Encoder["encode"]>) => {
        asked.push(parameters[0]);
        return real.encode(...parameters);
      },
    },
  });
  try {
    const cache = createProbabilityCache(1_000_000);
    const weak = createJudge(tinyParts({ encoder, checkpoint, cache }));
    const strong = createJudge(tinyParts({ encoder, checkpoint, cache, output: "strong" }));
    const other = createJudge(
      tinyParts({ encoder, checkpoint: { ...checkpoint, hash: "another" }, cache, maxTokens: 99 }),
    );
    for (const judge of [weak, strong, other]) await judge.prepare();
    asked.length = 0;
    const [first] = await weak.judge(["What is 2+2?"]);
    const [again] = await weak.judge(["What is 2+2?"]);
    const [byOther] = await strong.judge(["What is 2+2?"]);
    assert.deepEqual([first!.cache, again!.cache, byOther!.cache], ["miss", "hit", "hit"]);
    assert.equal(again!.pSolve, first!.pSolve);
    assert.deepEqual(again!.probabilities, first!.probabilities);
    assert.equal(byOther!.pSolve, first!.probabilities.strong);
    assert.equal(asked.length, 1);
    const [elsewhere] = await other.judge(["What is 2+2?"]);
    assert.equal(elsewhere!.cache, "miss", "another checkpoint never sees this one's values");
    const two = await weak.judge(["What is 2+2?", "new", "new"]);
    assert.deepEqual(
      two.map((judgement) => judgement.cache),
      ["hit", "miss", "shared"],
    );
    assert.deepEqual(asked.at(-1), ["new"]);
  } finally {
    await real.close();
  }
});
