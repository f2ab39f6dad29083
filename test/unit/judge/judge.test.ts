// A judge on the real tiny encoder: what is judged, and what is abstained from and why.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { loadCheckpoint } from "../../../src/checkpoint/load.js";
import { JudgeError } from "../../../src/errors.js";
import { createJudge } from "../../../src/judge/judge.js";
import type { JudgeParts } from "../../../src/judge/judge-parts.js";
import { createProbabilityCache } from "../../../src/judge/probability-cache.js";
import { scoreBatches } from "../../../src/judge/score.js";
import { fixturePath } from "../../support/fixtures.js";
import { rejection } from "../../support/refusal.js";
import { tinyEncoder, tinyParts } from "../../support/tiny.js";

const encoder = tinyEncoder();
before(() => encoder.start());
after(() => encoder.close());
const checkpoint = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));

/** A prepared judge, and the codes of the faults it was told. */
async function prepared(given: Partial<JudgeParts> = {}) {
  const faults: string[] = [];
  const parts = tinyParts({ encoder, checkpoint, onFault: ({ code }) => faults.push(code), ...given });
  const judge = createJudge(parts);
  await judge.prepare();
  return { judge, faults };
}

test("a judgement names every output, and p_solve is the chosen one", async () => {
  for (const output of ["weak", "strong"]) {
    const { judge, faults } = await prepared({ output });
    const [judgement] = await judge.judge(["What is the capital of France?"]);
    assert.deepEqual(Object.keys(judgement!.probabilities), ["weak", "strong"]);
    assert.equal(judgement!.pSolve, judgement!.probabilities[output]);
    assert.equal(judgement!.tokens, 24);
    assert.equal(judgement!.truncated, false);
    assert.equal(judgement!.abstained, null);
    assert.ok(Object.values(judgement!.milliseconds).every((value) => value >= 0));
    assert.deepEqual(faults, []);
  }
});

test("texts without anything to read abstain in their places, the others are judged as if alone", async () => {
  const { judge, faults } = await prepared();
  const [hi] = await judge.judge(["Hi"]);
  const [other] = await judge.judge(["Solve: 1+1"]);
  const judgements = await judge.judge([null, "Hi", null, "Solve: 1+1"]);
  assert.deepEqual(
    judgements.map(({ abstained }) => abstained),
    ["no_user_text", null, "no_user_text", null],
  );
  assert.ok(Math.abs(judgements[1]!.pSolve! - hi!.pSolve!) < 1e-5);
  assert.ok(Math.abs(judgements[3]!.pSolve! - other!.pSolve!) < 1e-5);
  assert.notEqual(hi!.pSolve, other!.pSolve);
  assert.equal(judgements[0]!.pSolve, null);
  assert.deepEqual(judgements[0]!.probabilities, {});
  assert.deepEqual(faults, []);
});

test("a text that is too long is judged and flagged", async () => {
  const { judge } = await prepared({ maxTokens: 40 });
  const [judgement] = await judge.judge(["one two three ".repeat(50)]);
  assert.deepEqual([judgement!.tokens, judgement!.truncated, judgement!.abstained], [40, true, null]);
});

test("a judge that has not been prepared abstains", async () => {
  const faults: string[] = [];
  const judge = createJudge(tinyParts({ encoder, checkpoint, onFault: ({ code }) => faults.push(code) }));
  assert.equal(judge.ready, false);
  assert.equal((await judge.judge(["Hi"]))[0]!.abstained, "encoder_down");
  assert.deepEqual(faults, ["encoder_down"]);
});

test("a judgement that takes longer than the deadline is an abstention, and the judge goes on", async () => {
  const { judge, faults } = await prepared({ deadlineMs: 1 });
  const many = Array.from({ length: 40 }, (_, index) => `${index} `.repeat(400));
  const busy = encoder.encode(many, {
    view: { template: "chat", maxTokens: 512, truncation: "middle" },
    layers: [0],
    pooling: ["mean"],
  });
  assert.equal((await judge.judge(["Hi"]))[0]!.abstained, "deadline");
  assert.deepEqual(faults, ["deadline"]);
  await busy;
  const patient = await prepared();
  assert.equal((await patient.judge.judge(["Hi"]))[0]!.abstained, null);
});

test("a result that comes after the deadline is kept: the next who asks for the text has it", async () => {
  const cache = createProbabilityCache(100_000);
  let endRun = () => {};
  const runEnds = new Promise<void>((resolve) => {
    endRun = resolve;
  });
  const slow = {
    ...encoder,
    up: true,
    facts: encoder.facts,
    async encode(...given: Parameters<typeof encoder.encode>) {
      const [texts, { signal: _, ...options }] = given;
      const result = await encoder.encode(texts, options);
      if (options.expiresAt !== undefined) await runEnds;
      return result;
    },
  };
  const { judge } = await prepared({ encoder: slow, cache, deadlineMs: 20 });
  assert.equal((await judge.judge(["Hi"]))[0]!.abstained, "deadline");
  endRun();
  await turn();
  const [judgement] = await judge.judge(["Hi"]);
  assert.deepEqual([judgement!.abstained, judgement!.cache], [null, "hit"]);
});

test("of several texts those that are done in time are judged, the others abstain", async () => {
  const never = new Promise<never>(() => {});
  const stuck = {
    ...encoder,
    up: true,
    facts: encoder.facts,
    encode: (...given: Parameters<typeof encoder.encode>) =>
      given[0][0] === "stuck" ? never : encoder.encode(...given),
  };
  const { judge } = await prepared({ encoder: stuck, deadlineMs: 1000 });
  const judgements = await judge.judge(["Hi", "stuck", null]);
  assert.deepEqual(
    judgements.map(({ abstained }) => abstained),
    [null, "deadline", "no_user_text"],
  );
});

test("a client that has left gets an exception, not a judgement", async () => {
  const { judge, faults } = await prepared();
  const signal = AbortSignal.abort(new JudgeError("client_gone", { found: "left" }));
  await rejection("client_gone", judge.judge(["Hi"], { signal: () => signal }));
  assert.deepEqual(faults, []);
});

test("an encoder that is down makes the judge unready and abstain", async () => {
  const own = tinyEncoder();
  await own.start();
  const { judge, faults } = await prepared({ encoder: own });
  assert.equal(judge.ready, true);
  await own.close();
  assert.equal(judge.ready, false);
  const judgements = await judge.judge(["Hi", null, "Ho"]);
  assert.deepEqual(
    judgements.map(({ abstained }) => abstained),
    ["encoder_down", "no_user_text", "encoder_down"],
  );
  assert.deepEqual(faults, ["encoder_down", "encoder_down"]);
});

test("many texts are scored in batches of at most eight, in their order", async () => {
  const { judge } = await prepared();
  const texts = Array.from({ length: 19 }, (_, index) => (index === 9 ? null : `text ${index}`));
  const batches = [];
  for await (const batch of scoreBatches(judge, texts)) batches.push(batch);
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [8, 8, 3],
  );
  assert.equal(batches.flat()[9]!.abstained, "no_user_text");
  const [last] = await judge.judge(["text 18"]);
  assert.ok(Math.abs(batches.flat()[18]!.pSolve! - last!.pSolve!) < 1e-5);
});

test("a head that gives no number costs that text alone, and is not kept", async () => {
  const poisoned: JudgeParts["encoder"] = Object.create(encoder, {
    encode: {
      async value(...given: Parameters<typeof encoder.encode>) {
        const result = await encoder.encode(...given);
        const poison = (vector: Float32Array) => vector.map(() => Number.NaN);
        const encodings = result.encodings.map((encoding, place) => {
          if (given[0][place] !== "poison" || encoding instanceof JudgeError) return encoding;
          return { ...encoding, pooled: new Map([...encoding.pooled].map(([key, v]) => [key, poison(v)])) };
        });
        return { ...result, encodings };
      },
    },
  });
  const { judge, faults } = await prepared({ encoder: poisoned, cache: createProbabilityCache(1e6) });
  for (let round = 0; round < 2; round++) {
    const judgements = await judge.judge(["poison", "Hi"]);
    assert.deepEqual(
      judgements.map(({ abstained }) => abstained),
      ["encoder_error", null],
    );
    assert.ok(judgements[1]!.pSolve! > 0 && judgements[1]!.pSolve! < 1);
  }
  assert.deepEqual(faults, ["encoder_error", "encoder_error"]);
});

test("doubled spaces change nothing where runs of spaces are read as one; line ends and tabs stay", async () => {
  const text = "Sum up:\n  a = 1\n\tb  =  2";
  const one = await prepared({ spaces: "single" });
  const kept = await prepared();
  const p = async ({ judge }: typeof one, prompt: string) => (await judge.judge([prompt]))[0]!.pSolve;
  assert.equal(await p(one, text.replaceAll(" ", "   ")), await p(one, text));
  assert.equal(await p(one, text), await p(kept, "Sum up:\n a = 1\n\tb = 2"));
  assert.notEqual(await p(kept, text), await p(one, text));
  assert.notEqual(await p(one, text.replace("\t", " ")), await p(one, text));
});

test("on_truncation = abstain: a text that is too long is not judged, kept or new, and others are", async () => {
  const cache = createProbabilityCache(100_000);
  const whole = await prepared({ maxTokens: 40, cache });
  const long = "one two three ".repeat(50);
  const [judged] = await whole.judge.judge([long]);
  assert.equal(judged!.abstained, null);
  const { judge, faults } = await prepared({ maxTokens: 40, cache, onTruncation: "abstain" });
  for (const text of [long, `${long} four`]) {
    const [first, second] = await judge.judge([text, "Hi"]);
    assert.deepEqual(
      [first!.abstained, first!.pSolve, first!.tokens, first!.truncated, first!.probabilities],
      ["truncated", null, 40, true, {}],
    );
    assert.equal(second!.abstained, null);
  }
  assert.deepEqual(faults, []);
});

test("a long text of which only white space is left abstains, and that is no fault", async () => {
  for (const truncation of ["middle", "right"] as const) {
    const { judge, faults } = await prepared({ maxTokens: 40, truncation });
    for (const blank of [" ", "\n", "\t \n"]) {
      const room = blank.repeat(2000);
      const [hidden, seen] = await judge.judge([`${room}What is 2+2?${room}`, `What is 2+2?${room}`]);
      assert.equal(hidden!.abstained, "unreadable_text");
      assert.equal(seen!.abstained, null);
    }
    assert.deepEqual(faults, []);
  }
});
