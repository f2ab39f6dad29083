// Judges of one encoder and view: they share runs, get the layers that each of them needs, and do not disturb
// each other.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { loadCheckpoint } from "../../../src/checkpoint/load.js";
import type { EncodeOptions, EncodeResult, Encoder } from "../../../src/encoder/encoder.js";
import type { View } from "../../../src/encoder/view.js";
import { JudgeError } from "../../../src/errors.js";
import { createJudge } from "../../../src/judge/judge.js";
import { createSharedRun, createSharedRuns, type Limits } from "../../../src/judge/shared-runs.js";
import { fixturePath } from "../../support/fixtures.js";
import { rejection } from "../../support/refusal.js";
import { tinyEncoder, tinyParts } from "../../support/tiny.js";

const view: View = { template: "none", maxTokens: 64, truncation: "middle" };
const never = new AbortController().signal;
const gone = new JudgeError("client_gone", { found: "left" });

/** One call of the encoder, which ends when the test says so, or as soon as it is aborted while it waits. */
interface Call extends EncodeOptions {
  readonly texts: readonly string[];
  /** by text: its token count is its length */
  finish(faults?: Readonly<Record<string, JudgeError>>): void;
  fail(error: unknown): void;
}

/** @param isRunning texts do not wait: an abort comes too late */
function createFake({ isRunning = false } = {}) {
  const calls: Call[] = [];
  const encode: Encoder["encode"] = (texts, options) =>
    new Promise<EncodeResult>((resolve, fail) => {
      if (!isRunning) options.signal?.addEventListener("abort", () => fail(options.signal?.reason));
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
  const forward = createSharedRun({ encode } as Encoder, view);
  const ask = async (text: string, signal = never, more: Partial<Limits> = {}) => {
    const { encoding } = await forward.encode(text, { signal, expiresAt: 1, isBulk: false, ...more });
    return encoding instanceof JudgeError ? encoding.code : encoding.tokenCount;
  };
  return { calls, forward, ask };
}

describe("texts in flight", () => {
  test("equal ones are run once, for whoever asks and as often as they are asked for", async () => {
    const { calls, ask } = createFake();
    const answers = ["a", "bb", "a", "bb", "ccc"].map((text) => ask(text));
    assert.deepEqual(
      calls.map(({ texts }) => texts),
      [["a"], ["bb"], ["ccc"]],
    );
    for (const call of calls) call.finish();
    assert.deepEqual(await Promise.all(answers), [1, 2, 1, 2, 3]);
  });
  test("one is answered when its own run ends, whatever else its call asked for", async () => {
    const { calls, ask } = createFake();
    const [first, second] = [ask("a"), ask("bb")];
    const joined = ask("bb");
    calls[1]!.finish();
    assert.deepEqual(await Promise.all([second, joined]), [2, 2]);
    calls[0]!.finish();
    assert.equal(await first, 1);
  });
  test("one that has been answered is run anew", async () => {
    const { calls, ask } = createFake();
    for (const count of [1, 2]) {
      const answer = ask("a");
      assert.equal(calls.length, count);
      calls.at(-1)!.finish();
      await answer;
    }
  });
  test("one that cannot be encoded fails alone, for everyone who asked for it", async () => {
    const { calls, ask } = createFake();
    const answers = ["a", "bb", "bb"].map((text) => ask(text));
    calls[0]!.finish();
    calls[1]!.finish({ bb: new JudgeError("encoder_error", { found: "poison" }) });
    assert.deepEqual(await Promise.all(answers), [1, "encoder_error", "encoder_error"]);
  });
  test("one waits as long as the most patient, and is as urgent as the most urgent who waits", async () => {
    const { calls, ask } = createFake();
    const leaving = new AbortController();
    void ask("a", never, { expiresAt: 5, isBulk: true });
    const [{ expiresAt, isBulk }] = calls as [Call];
    assert.deepEqual([expiresAt!(), isBulk!()], [5, true]);
    void ask("a", leaving.signal, { expiresAt: 9 }).catch(() => {});
    assert.deepEqual([expiresAt!(), isBulk!()], [9, false]);
    leaving.abort(gone);
    assert.deepEqual([expiresAt!(), isBulk!()], [5, true]);
  });
});

describe("when somebody leaves", () => {
  test("the others get their answer from the same run", async () => {
    const { calls, ask } = createFake();
    const leaving = new AbortController();
    void ask("bb", leaving.signal);
    const stayed = ask("bb");
    leaving.abort(gone);
    assert.equal(calls[0]!.signal?.aborted, false);
    calls[0]!.finish();
    assert.equal(await stayed, 2);
    assert.equal(calls.length, 1);
  });
  test("and nobody is left, the text waits no more", async () => {
    const { calls, ask } = createFake();
    const leaving = [new AbortController(), new AbortController()];
    const left = leaving.map(({ signal }) => rejection("client_gone", ask("a", signal)));
    for (const controller of leaving) {
      assert.equal(calls[0]!.signal?.aborted, false);
      controller.abort(gone);
    }
    await Promise.all(left);
    assert.equal(calls[0]!.signal?.aborted, true);
    const next = ask("a");
    assert.equal(calls.length, 2);
    calls[1]!.finish();
    assert.equal(await next, 1);
  });
  test("whoever came at that moment is not told of it: the text is begun anew, once for all of them", async () => {
    const { calls, ask } = createFake();
    const leaving = new AbortController();
    const left = rejection("client_gone", ask("a", leaving.signal));
    leaving.abort(gone);
    const came = [ask("a"), ask("a")];
    await left;
    await turn();
    assert.equal(calls.length, 2);
    calls[1]!.finish();
    assert.deepEqual(await Promise.all(came), [1, 1]);
  });
  test("what runs already is delivered all the same, and serves who comes meanwhile", async () => {
    const { calls, ask } = createFake({ isRunning: true });
    const leaving = new AbortController();
    const late = ask("a", leaving.signal);
    leaving.abort(gone);
    const came = ask("a");
    calls[0]!.finish();
    assert.deepEqual(await Promise.all([late, came]), [1, 1]);
    assert.equal(calls.length, 1);
  });
  test("before anything began, nothing is run", async () => {
    const { calls, ask } = createFake();
    await rejection("client_gone", ask("a", AbortSignal.abort(gone)));
    assert.equal(calls.length, 0);
  });
});

test("an encoder that fails tells everyone who waits, once, and is asked again by the next", async () => {
  const { calls, ask } = createFake();
  const unhandled: unknown[] = [];
  const listen = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", listen);
  const answers = [ask("a"), ask("a")];
  calls[0]!.fail(new JudgeError("encoder_down", { found: "down" }));
  for (const answer of answers) await rejection("encoder_down", answer);
  const next = ask("a");
  calls[1]!.finish();
  assert.equal(await next, 1);
  await turn();
  process.off("unhandledRejection", listen);
  assert.deepEqual(unhandled, []);
});

describe("layers and pooling", () => {
  test("are the union of what has been wanted, each once and in order", async () => {
    const { calls, forward, ask } = createFake();
    forward.want({ layers: [5, 1], pooling: ["mean"] });
    forward.want({ layers: [1, 3], pooling: ["last", "mean"] });
    const answer = ask("a");
    const { layers, pooling } = calls[0]!;
    assert.deepEqual([layers, pooling, calls[0]!.view], [[1, 3, 5], ["last", "mean"], view]);
    calls[0]!.finish();
    await answer;
  });
  test("that are wanted while a text is in flight are there for who asks for it from then on", async () => {
    const { calls, forward, ask } = createFake();
    forward.want({ layers: [1], pooling: ["mean"] });
    const before = ask("a");
    forward.want({ layers: [7], pooling: ["mean"] });
    const after = ask("a");
    assert.ok(calls.at(-1)!.layers.includes(7), "the run that the second waits for lacks layer 7");
    for (const call of calls) call.finish();
    await Promise.all([before, after]);
  });
});

test("judges share a forward when encoder and view are the same, and not otherwise", () => {
  const forwards = createSharedRuns();
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
  assert.notEqual(createSharedRuns()(one, view), shared);
});

test("two judges asked for one text cost one run, and each gives its own probabilities", async (context) => {
  const encoder = tinyEncoder();
  await encoder.start();
  context.after(() => encoder.close());
  const names = ["router-json-v1", "router-json-v1-four-outputs"];
  const outputs = ["weak", "b/two"];
  const alone: number[] = [];
  const encode = context.mock.method(encoder, "encode");
  const sharedRuns = createSharedRuns();
  const judges = await Promise.all(
    names.map(async (name, index) => {
      const checkpoint = await loadCheckpoint(fixturePath(`checkpoints/${name}`));
      const parts = tinyParts({ encoder, checkpoint, output: outputs[index]! });
      const single = createJudge(parts);
      await single.prepare();
      alone[index] = (await single.judge(["Solve: 1+1"]))[0]!.pSolve!;
      return createJudge({ ...parts, sharedRuns });
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
