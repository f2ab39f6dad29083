// Judges of one encoder and view: they share runs, get the layers that each of them needs, and do not disturb each other.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { loadCheckpoint } from "../../../src/checkpoint/load.js";
import type { EncodeOptions, EncodeResult, Encoder, View } from "../../../src/encoder/encoder.js";
import { JudgeError } from "../../../src/errors.js";
import { createForward, createForwards } from "../../../src/judge/forward.js";
import { createJudge } from "../../../src/judge/judge.js";
import { fixturePath } from "../../support/fixtures.js";
import { rejection } from "../refusal.js";
import { tinyEncoder, tinyParts } from "./tiny.js";

const view: View = { template: "none", maxTokens: 64, truncation: "middle" };
const never = new AbortController().signal;
const gone = new JudgeError("client_gone", "left");

/** One call of the encoder, which ends when the test says so, or as soon as it is aborted. */
interface Call extends EncodeOptions {
  readonly texts: readonly string[];
  /** by text: its token count is its length */
  finish(faults?: Readonly<Record<string, JudgeError>>): void;
  fail(error: unknown): void;
}

function createFake() {
  const calls: Call[] = [];
  const encode: Encoder["encode"] = (texts, options) =>
    new Promise<EncodeResult>((resolve, fail) => {
      options.signal?.addEventListener("abort", () => fail(options.signal?.reason));
      calls.push({
        ...options,
        texts,
        fail,
        finish(faults = {}) {
          const encodings = texts.map(
            (text) => faults[text] ?? { pooled: new Map(), tokenCount: text.length, truncated: false },
          );
          resolve({ encodings, milliseconds: { tokenize: 1, prefill: 2 } });
        },
      });
    });
  const forward = createForward({ encode } as Encoder, view);
  const ask = async (texts: readonly string[], signal = never) =>
    (await forward.encode(texts, { signal, expiresAt: 1 })).map(({ encoding }) =>
      encoding instanceof JudgeError ? encoding.code : encoding.tokenCount,
    );
  return { calls, forward, ask };
}

describe("texts in flight", () => {
  test("equal ones are run once, for whoever asks and as often as they are asked for", async () => {
    const { calls, ask } = createFake();
    const answers = [ask(["a", "bb", "a"]), ask(["bb"]), ask(["ccc", "a"])];
    assert.deepEqual(
      calls.map(({ texts }) => texts),
      [["a", "bb"], ["ccc"]],
    );
    for (const call of calls) call.finish();
    assert.deepEqual(await Promise.all(answers), [[1, 2, 1], [2], [3, 1]]);
  });
  test("one that has been answered is run anew", async () => {
    const { calls, ask } = createFake();
    for (const count of [1, 2]) {
      const answer = ask(["a"]);
      assert.equal(calls.length, count);
      calls.at(-1)!.finish();
      await answer;
    }
  });
  test("one that cannot be encoded fails alone, for everyone who asked for it", async () => {
    const { calls, ask } = createFake();
    const answers = [ask(["a", "bb"]), ask(["a"]), ask(["bb"])];
    calls[0]!.finish({ bb: new JudgeError("encoder_error", "poison") });
    assert.deepEqual(await Promise.all(answers), [[1, "encoder_error"], [1], ["encoder_error"]]);
  });
});

describe("when somebody leaves", () => {
  test("the others get their answer from the same run", async () => {
    const { calls, ask } = createFake();
    const leaving = new AbortController();
    const left = ask(["a", "bb"], leaving.signal);
    const stayed = ask(["bb"]);
    leaving.abort(gone);
    await rejection("client_gone", left);
    assert.equal(calls[0]!.signal?.aborted, false);
    calls[0]!.finish();
    assert.deepEqual(await stayed, [2]);
    assert.equal(calls.length, 1);
  });
  test("and nobody is left, the run is ended, and the same text starts another", async () => {
    const { calls, ask } = createFake();
    const leaving = [new AbortController(), new AbortController()];
    const left = leaving.map(({ signal }) => ask(["a"], signal));
    for (const [index, controller] of leaving.entries()) {
      assert.equal(calls[0]!.signal?.aborted, false);
      controller.abort(gone);
      await rejection("client_gone", left[index]!);
    }
    assert.equal(calls[0]!.signal?.aborted, true);
    const next = ask(["a"]);
    assert.equal(calls.length, 2);
    calls[1]!.finish();
    assert.deepEqual(await next, [1]);
  });
  test("before anything began, nothing is run", async () => {
    const { calls, ask } = createFake();
    await rejection("client_gone", ask(["a"], AbortSignal.abort(gone)));
    assert.equal(calls.length, 0);
  });
});

test("an encoder that fails tells everyone who waits, once, and is asked again by the next", async () => {
  const { calls, ask } = createFake();
  const unhandled: unknown[] = [];
  const listen = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", listen);
  const answers = [ask(["a"]), ask(["a", "bb"]), ask(["bb"])];
  calls[0]!.fail(new JudgeError("encoder_down", "down"));
  await rejection("encoder_down", answers[0]!);
  await rejection("encoder_down", answers[1]!);
  calls[1]!.finish();
  assert.deepEqual(await answers[2], [2]);
  const next = ask(["a"]);
  calls[2]!.finish();
  assert.deepEqual(await next, [1]);
  await turn();
  process.off("unhandledRejection", listen);
  assert.deepEqual(unhandled, []);
});

describe("layers and pooling", () => {
  test("are the union of what has been wanted, each once and in order", async () => {
    const { calls, forward, ask } = createFake();
    forward.want({ layers: [5, 1], pooling: ["mean"] });
    forward.want({ layers: [1, 3], pooling: ["last", "mean"] });
    const answer = ask(["a"]);
    const { layers, pooling } = calls[0]!;
    assert.deepEqual([layers, pooling, calls[0]!.view], [[1, 3, 5], ["last", "mean"], view]);
    calls[0]!.finish();
    await answer;
  });
  test("that are wanted while a text is in flight are there for who asks for it from then on", async () => {
    const { calls, forward, ask } = createFake();
    forward.want({ layers: [1], pooling: ["mean"] });
    const before = ask(["a"]);
    forward.want({ layers: [7], pooling: ["mean"] });
    const after = ask(["a"]);
    assert.ok(calls.at(-1)!.layers.includes(7), "the run that the second waits for lacks layer 7");
    for (const call of calls) call.finish();
    await Promise.all([before, after]);
  });
});

test("judges share a forward when encoder and view are the same, and not otherwise", () => {
  const forwards = createForwards();
  const [one, two] = [tinyEncoder(), tinyEncoder()];
  const shared = forwards(one, view);
  assert.equal(forwards(one, { ...view, templateArguments: {} }), shared);
  const others: readonly View[] = [
    { ...view, template: "chat" },
    { ...view, maxTokens: 65 },
    { ...view, truncation: "right" },
    { ...view, templateArguments: { enable_thinking: false } },
  ];
  const all = [shared, forwards(two, view), ...others.map((other) => forwards(one, other))];
  assert.equal(new Set(all).size, all.length);
  assert.notEqual(createForwards()(one, view), shared);
});

test("two judges asked for one text cost one run, and each gives its own probabilities", async (context) => {
  const encoder = tinyEncoder();
  await encoder.start();
  context.after(() => encoder.close());
  const names = ["router-json-v1", "router-json-v1-four-outputs"];
  const outputs = ["weak", "b/two"];
  const alone: number[] = [];
  const encode = context.mock.method(encoder, "encode");
  const forward = createForwards();
  const judges = await Promise.all(
    names.map(async (name, index) => {
      const checkpoint = await loadCheckpoint(fixturePath(`checkpoints/${name}`));
      const parts = tinyParts({ encoder, checkpoint, output: outputs[index]! });
      const single = createJudge(parts);
      await single.prepare();
      alone[index] = (await single.judge(["Solve: 1+1"]))[0]!.pSolve!;
      return createJudge({ ...parts, forward });
    }),
  );
  for (const judge of judges) await judge.prepare();
  encode.mock.resetCalls();
  const together = await Promise.all(judges.map((judge) => judge.judge(["Solve: 1+1"])));
  assert.equal(encode.mock.callCount(), 1);
  assert.deepEqual(encode.mock.calls[0]!.arguments[1].layers, [0, 1, 2, 3]);
  together.forEach(([judgement], index) => {
    assert.ok(Math.abs(judgement!.pSolve! - alone[index]!) < 1e-6);
  });
});
