// Natural batching over runs that end when the test says so: who runs with whom, who is refused, and what
// becomes of texts whose process dies.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { BatchLimits, EncodeOptions, Encoding } from "../../../../../src/encoder/encoder.js";
import { createBatcher } from "../../../../../src/encoder/onnx/batching/batcher.js";
import type { BatchResult } from "../../../../../src/encoder/onnx/child/batch.js";
import { ProcessLost } from "../../../../../src/encoder/onnx/process-lost.js";
import type { EncodeWork } from "../../../../../src/encoder/onnx/protocol.js";
import type { View } from "../../../../../src/encoder/view.js";
import { JudgeError } from "../../../../../src/errors.js";
import { rejection } from "../../../../support/refusal.js";

const view: View = { template: "none", maxTokens: 512, truncation: "middle" };
const options: EncodeOptions = { view, layers: [1], pooling: ["mean"] };

/**
 * A short text's tokens are its characters, so that each is known by them; a long one's a quarter, as is
 * guessed.
 */
const tokensOf = ({ length }: string) => (length < 200 ? length : length / 4);

interface Run extends EncodeWork {
  finish(milliseconds?: number): Promise<void>;
  fail(error: unknown): Promise<void>;
  answer(result: unknown): Promise<void>;
}

function bench(given: Partial<BatchLimits> = {}, processes = 1) {
  const runs: Run[] = [];
  let now = 0;
  let up = processes;
  const batcher = createBatcher({
    limits: { maxBatch: 32, maxBatchTokens: 1024, maxWaitMs: 0, queueLimit: 256, ...given },
    run: (work) =>
      new Promise<BatchResult>((resolve, reject) => {
        runs.push({
          ...work,
          async finish(milliseconds = 1) {
            now += milliseconds;
            const encodings = work.texts.map(
              (text): Encoding => ({ pooled: new Map(), tokenCount: tokensOf(text), truncated: false }),
            );
            resolve({ encodings, milliseconds: { tokenize: 0, prefill: milliseconds } });
            await turn();
          },
          async answer(result) {
            resolve(result as BatchResult);
            await turn();
          },
          async fail(error) {
            reject(error);
            await turn();
          },
        });
      }),
    runs: () => up,
    templateTokens: () => 0,
    clock: () => now,
  });
  /** The texts of a request, which is in no hurry. */
  const ask = async (texts: readonly string[], more: Partial<EncodeOptions> = {}) => {
    const expiresAt = () => Number.POSITIVE_INFINITY;
    const { encodings } = await batcher.encode(texts, { ...options, expiresAt, ...more });
    return encodings.map((entry) => (entry instanceof JudgeError ? entry.code : entry.tokenCount));
  };
  /** Runs of 1 to `count` times 50 tokens, at 10 ms a token. */
  const learn = async (count: number) => {
    for (let index = 1; index <= count; index++) {
      void ask(["x".repeat(200 * ((index % 5) + 1))]);
      await turn();
      await runs.at(-1)!.finish(500 * ((index % 5) + 1));
    }
  };
  return {
    batcher,
    runs,
    ask,
    learn,
    texts: () => runs.map((run) => run.texts),
    down: () => {
      up = 0;
    },
    come: () => {
      up++;
      batcher.wake();
    },
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

describe("who runs with whom", () => {
  test("an idle encoder is given the first text at once; those that come meanwhile make up the next run", async () => {
    const { runs, ask, texts } = bench();
    const first = ask(["a"]);
    await turn();
    const answers = [first, ...["bb", "ccc"].map((text) => ask([text]))];
    await turn();
    assert.deepEqual(texts(), [["a"]]);
    await runs[0]!.finish();
    assert.deepEqual(texts(), [["a"], ["bb", "ccc"]]);
    await runs[1]!.finish();
    assert.deepEqual(await Promise.all(answers), [[1], [2], [3]]);
  });
  test("texts of one call may run apart, and come back in their order", async () => {
    const { runs, ask, texts } = bench({ maxBatch: 2 });
    const answer = ask(["a", "bb", "ccc"]);
    await turn();
    assert.deepEqual(texts(), [["a", "bb"]]);
    await runs[0]!.finish();
    await runs[1]!.finish();
    assert.deepEqual(await answer, [1, 2, 3]);
  });
  test("at most max_batch texts, and max_batch_tokens tokens as guessed", async () => {
    const { runs, ask, texts } = bench({ maxBatch: 3, maxBatchTokens: 100 });
    void ask(["first"]);
    await turn();
    void ask(["a", "b", "c", "d"]);
    const long = "x".repeat(160);
    void ask([long, `${long}y`, `${long}z`]);
    await runs[0]!.finish();
    await runs[1]!.finish();
    await runs[2]!.finish();
    await runs[3]!.finish();
    assert.deepEqual(texts(), [["first"], ["a", "b", "c"], ["d"], [long, `${long}y`], [`${long}z`]]);
  });
  test("a text longer than max_batch_tokens runs alone", async () => {
    const { runs, ask, texts } = bench({ maxBatchTokens: 10 });
    const first = ask(["first"]);
    await turn();
    const answers = [first, ask(["y".repeat(400)]), ask(["y".repeat(400)])];
    await runs[0]!.finish();
    await runs[1]!.finish();
    await runs[2]!.finish();
    assert.deepEqual(
      texts()
        .slice(1)
        .map((batch) => batch.length),
      [1, 1],
    );
    assert.deepEqual(await Promise.all(answers), [[5], [100], [100]]);
  });
  test("another view, other layers and much longer texts wait for a run of their own, the oldest first", async () => {
    const { runs, ask, texts } = bench();
    void ask(["first"]);
    await turn();
    void ask(["short"]);
    void ask(["layers"], { layers: [2] });
    void ask(["viewed"], { view: { ...view, maxTokens: 64 } });
    const long = "long ".repeat(40);
    void ask([long]);
    void ask(["again"]);
    for (let run = 0; run < 5; run++) await runs[run]!.finish();
    assert.deepEqual(texts(), [["first"], ["short", "again"], ["layers"], ["viewed"], [long]]);
    assert.deepEqual(runs[2]!.wanted.layers, [2]);
    assert.equal(runs[3]!.view.maxTokens, 64);
  });
  test("those nearest in length to the oldest come first", async () => {
    const { runs, ask, texts } = bench({ maxBatch: 3 });
    void ask(["first"]);
    await turn();
    const [short, middle, long] = [100, 140, 180].map((size) => "x".repeat(size)) as [string, string, string];
    for (const text of [middle, long, short, `${short}y`, `${middle}y`]) void ask([text]);
    await runs[0]!.finish();
    await runs[1]!.finish();
    assert.deepEqual(texts()[1], [middle, `${middle}y`, `${short}y`]);
    assert.deepEqual(texts()[2], [long, short]);
  });
  test("with max_wait_ms the first text waits for company, and no longer", async () => {
    const { ask, texts } = bench({ maxWaitMs: 5, maxBatch: 2 });
    void ask(["a"]);
    await turn();
    assert.deepEqual(texts(), []);
    void ask(["b"]);
    await turn();
    assert.deepEqual(texts(), [["a", "b"]], "a full batch waits no more");
  });
});

describe("two processes", () => {
  test("each is given a text as long as it is free; then whoever is done takes what waits", async () => {
    const { runs, ask, texts } = bench({}, 2);
    const answers = ["a", "bb"].map((text) => ask([text]));
    await turn();
    answers.push(...["ccc", "dddd"].map((text) => ask([text])));
    assert.deepEqual(texts(), [["a"], ["bb"]]);
    await runs[1]!.finish();
    assert.deepEqual(texts().slice(2), [["ccc", "dddd"]]);
    await runs[0]!.finish();
    await runs[2]!.finish();
    assert.deepEqual(await Promise.all(answers), [[1], [2], [3], [4]]);
  });
  test("the texts of a call are shared out among those that are free", async () => {
    const { runs, ask, texts } = bench({}, 2);
    const answer = ask(["a", "b", "c", "d", "e"]);
    await turn();
    assert.deepEqual(texts(), [
      ["a", "b", "c"],
      ["d", "e"],
    ]);
    await runs[0]!.finish();
    await runs[1]!.finish();
    assert.deepEqual(await answer, [1, 1, 1, 1, 1]);
  });
  test("without any, what is there waits for the first that comes", async () => {
    const { runs, ask, texts, down, come } = bench({}, 2);
    const answers = ["a", "bb"].map((text) => ask([text]));
    await turn();
    answers.push(ask(["ccc"]));
    down();
    await runs[0]!.fail(new ProcessLost());
    await runs[1]!.fail(new ProcessLost());
    assert.equal(runs.length, 2);
    await rejection("encoder_down", ask(["d"]));
    come();
    assert.deepEqual(texts().slice(2), [["bb"]]);
    come();
    assert.deepEqual(texts().slice(3), [["a"]]);
    for (let run = 2; run < 5; run++) await runs[run]!.finish();
    assert.deepEqual(await Promise.all(answers), [[1], [2], [3]]);
  });
  test("another one that comes takes what waits at once", async () => {
    const { texts, ask, come } = bench({ maxBatch: 1 });
    for (const text of ["a", "b"]) void ask([text]);
    await turn();
    assert.deepEqual(texts(), [["a"]]);
    come();
    assert.deepEqual(texts(), [["a"], ["b"]]);
  });
  test("a text that ends its process leaves the other's run alone", async () => {
    const { runs, ask, texts } = bench({}, 2);
    const poison = rejection("encoder_down", ask(["poison"]));
    const well = ask(["well"]);
    await turn();
    await runs[0]!.fail(new ProcessLost());
    assert.deepEqual(texts(), [["poison"], ["well"], ["poison"]]);
    await runs[2]!.fail(new ProcessLost());
    await poison;
    await runs[1]!.finish();
    assert.deepEqual(await well, [4]);
  });
});

describe("admission", () => {
  test("what the queue has no room for is refused, text by text", async () => {
    const { runs, ask } = bench({ queueLimit: 2 });
    const running = ask(["running"]);
    await turn();
    const waiting = ask(["a", "b", "c"]);
    assert.deepEqual(await ask(["d"]), ["overloaded"]);
    await runs[0]!.finish();
    await runs[1]!.finish();
    assert.deepEqual([await running, await waiting], [[7], [1, 1, "overloaded"]]);
  });
  test("work of the server's own, for which no deadline counts, waits however full the queue is", async () => {
    const { batcher, runs, ask } = bench({ queueLimit: 1 });
    void ask(["running"]);
    await turn();
    const waiting = ask(["a"]);
    const selftest = batcher.encode(["b", "c"], options);
    assert.deepEqual(await ask(["d"]), ["overloaded"]);
    await runs[0]!.finish();
    await runs[1]!.finish();
    assert.deepEqual(await waiting, [1]);
    assert.ok((await selftest).encodings.every((entry) => !(entry instanceof JudgeError)));
  });
  test("a client that leaves frees its place, and the others of its batch are answered", async () => {
    const { runs, ask, texts } = bench({ queueLimit: 2 });
    void ask(["running"]);
    await turn();
    const controller = new AbortController();
    const leaving = rejection("client_gone", ask(["a"], { signal: controller.signal }));
    const staying = ask(["b"]);
    controller.abort(new JudgeError("client_gone", { found: "left" }));
    await leaving;
    const late = ask(["c"]);
    await runs[0]!.finish();
    await runs[1]!.finish();
    assert.deepEqual(texts()[1], ["b", "c"]);
    assert.deepEqual([await staying, await late], [[1], [1]]);
  });
  test("a text that cannot be done in time makes room for one that can, once the encoder is known", async () => {
    const { runs, ask, texts, learn } = bench();
    await learn(10);
    void ask(["running"]);
    await turn();
    // 101 tokens at 10 ms each
    const late = ask(["y".repeat(400)], { expiresAt: () => 22_000 });
    const fine = ask(["z".repeat(400)], { expiresAt: () => 30_000 });
    await runs[10]!.finish(6500);
    assert.deepEqual(await late, ["overloaded"]);
    assert.deepEqual(texts()[11], ["z".repeat(400)]);
    await runs[11]!.finish();
    assert.deepEqual(await fine, [100]);
  });
  test("before the encoder is known nothing is refused for want of time", async () => {
    const { runs, ask, texts } = bench();
    void ask(["x".repeat(40)]);
    await turn();
    await runs[0]!.finish(1000);
    const late = [
      ask(["y".repeat(40)], { expiresAt: () => 1100 }),
      ask(["z".repeat(40)], { expiresAt: () => 1100 }),
    ];
    await turn();
    await runs[1]!.finish();
    assert.equal(texts().length, 2);
    assert.deepEqual(await Promise.all(late), [[40], [40]]);
  });
  test("the last one waiting is tried, however late: what is known of the speed may be wrong", async () => {
    const { runs, ask, learn } = bench();
    await learn(10);
    const late = ask(["y".repeat(400)], { expiresAt: () => 15_001 });
    await turn();
    await runs[10]!.finish();
    assert.deepEqual(await late, [100]);
  });
});

describe("what was run", () => {
  test("is delivered though its caller has left meanwhile", async () => {
    const { runs, ask } = bench();
    const controller = new AbortController();
    const answer = ask(["a"], { signal: controller.signal });
    await turn();
    controller.abort(new JudgeError("deadline", { found: "late" }));
    await runs[0]!.finish();
    assert.deepEqual(await answer, [1]);
  });
});

describe("texts in bulk", () => {
  const isBulk = () => true;
  test("chats go first", async () => {
    const { runs, ask, texts } = bench();
    void ask(["running"]);
    await turn();
    void ask(["bulk"], { isBulk });
    void ask(["chat"]);
    await runs[0]!.finish();
    await runs[1]!.finish();
    assert.deepEqual(texts(), [["running"], ["chat"], ["bulk"]]);
  });
  test("get a tenth of the time however many chats wait", async () => {
    const { runs, ask, texts } = bench({ maxBatch: 1 });
    for (let index = 0; index < 100; index++) void ask([`chat${index}`]);
    for (let index = 0; index < 100; index++) void ask([`bulk${index}`], { isBulk });
    await turn();
    for (let run = 0; run < 100; run++) await runs[run]!.finish(10);
    const bulk = texts()
      .slice(0, 100)
      .filter(([text]) => text!.startsWith("bulk")).length;
    assert.ok(bulk >= 9 && bulk <= 11, `${bulk} of 100 runs were in bulk`);
  });
  test("are urgent as soon as a chat waits for the same text", async () => {
    const { runs, ask, texts } = bench();
    void ask(["running"]);
    await turn();
    let waitsOnlyBulk = true;
    void ask(["both"], { isBulk: () => waitsOnlyBulk });
    void ask(["chat"]);
    waitsOnlyBulk = false;
    await runs[0]!.finish();
    assert.deepEqual(texts()[1], ["both", "chat"]);
  });
});

describe("a process that dies", () => {
  test("of a batch: each of its texts runs once more, alone; the one at fault fails", async () => {
    const { runs, ask, texts } = bench();
    void ask(["first"]);
    await turn();
    const answers = [ask(["a"]), rejection("encoder_down", ask(["p"])), ask(["c"])];
    await runs[0]!.finish();
    await runs[1]!.fail(new ProcessLost());
    const behind = ask(["behind"]);
    await runs[2]!.finish();
    await runs[3]!.fail(new ProcessLost());
    await runs[4]!.finish();
    await runs[5]!.finish();
    assert.deepEqual(texts().slice(1), [["a", "p", "c"], ["a"], ["p"], ["c"], ["behind"]]);
    assert.deepEqual([await answers[0], await answers[2], await behind], [[1], [1], [6]]);
    await answers[1];
  });
  test("and cannot be started again: all that waits is told", async () => {
    const { runs, ask, down, batcher } = bench();
    const calls = ["a", "b", "c"].map((text) => rejection("encoder_down", ask([text])));
    await turn();
    down();
    await runs[0]!.fail(new JudgeError("encoder_down", { found: "down" }));
    batcher.giveUp();
    await Promise.all(calls);
    await rejection("encoder_down", ask(["d"]));
    assert.equal(runs.length, 1);
  });
  test("with a text that nobody waits for any more: it is not run again", async () => {
    const { runs, ask, texts } = bench();
    const controller = new AbortController();
    const left = rejection("client_gone", ask(["a"], { signal: controller.signal }));
    await turn();
    controller.abort(new JudgeError("client_gone", { found: "left" }));
    await runs[0]!.fail(new ProcessLost());
    await left;
    void ask(["b"]);
    await turn();
    assert.deepEqual(texts(), [["a"], ["b"]]);
  });
});

test("nothing to encode is an empty answer without a run", async () => {
  const { runs, ask } = bench();
  assert.deepEqual(await ask([]), []);
  assert.equal(runs.length, 0);
});

describe("a fault in what is called back costs the texts it concerns, and nothing else", () => {
  test("a caller whose deadline cannot be told", async () => {
    const { ask, runs, learn } = bench();
    await learn(5);
    const running = ask(["first"]);
    await turn();
    const bug = new Error("a bug");
    const expiresAt = () => {
      throw bug;
    };
    const refused = assert.rejects(ask(["second"], { expiresAt }), bug);
    await runs.at(-1)!.finish();
    await refused;
    assert.deepEqual(await running, ["first".length]);
    const after = ask(["third"]);
    await turn();
    await runs.at(-1)!.finish();
    assert.deepEqual(await after, ["third".length]);
  });

  test("a run whose result is none", async () => {
    const { batcher, ask, runs } = bench();
    const empty = assert.rejects(batcher.encode(["first"], options), TypeError);
    await turn();
    await runs[0]!.answer(undefined);
    await empty;
    const after = ask(["second"]);
    await turn();
    await runs[1]!.finish();
    assert.deepEqual(await after, ["second".length]);
  });
});
