// Who is refused for want of time, in simulation: nobody who could have been done in half the deadline, and
// hardly anybody as long as the encoder can do what is asked of it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  costOf,
  type Outcome,
  oneAfterTheOther,
  type Request,
  randomNumbers,
  simulate,
  tokensOf,
} from "../../../../support/onnx/simulated.js";

const deadlineMs = 2000;

/**
 * Requests that come at random, with lengths spread evenly over their logarithm. @param load offered, of what
 * one at a time can do
 */
function mixed(load: number, count: number, [shortest, longest]: [number, number], seed: number): Request[] {
  const random = randomNumbers(seed);
  const lengths = Array.from({ length: count }, () =>
    Math.round(shortest * (longest / shortest) ** random()),
  );
  const work = lengths.reduce((sum, characters) => sum + costOf(tokensOf(characters)), 0);
  let atMs = 0;
  return lengths.map((characters) => {
    atMs += (-Math.log(1 - random()) * work) / count / load;
    return { atMs, characters, deadlineMs };
  });
}

/** A run takes 0.75 to 1.15 times its time, one in fifty three times that: in the mean its time. */
function noisy(seed: number): () => number {
  const random = randomNumbers(seed);
  return () => (random() < 0.02 ? 3 : 1) * (0.75 + 0.4 * random());
}

function refusedWrongly(outcomes: readonly Outcome[]): Outcome[] {
  const ends = oneAfterTheOther(outcomes);
  return outcomes.filter(({ result, atMs, deadlineMs: limit }, index) => {
    return result === "overloaded" && ends[index]! - atMs <= limit / 2;
  });
}

const share = (outcomes: readonly Outcome[], result: Outcome["result"]) =>
  outcomes.filter((outcome) => outcome.result === result).length / outcomes.length;

/** The part that is late when nobody steps back, but for those who have left. */
function lateInTurn(requests: readonly Request[]): number {
  let free = 0;
  let late = 0;
  for (const { atMs, characters, deadlineMs: limit } of requests) {
    const begun = Math.max(free, atMs);
    if (begun < atMs + limit) free = begun + costOf(tokensOf(characters));
    if (begun >= atMs + limit || free > atMs + limit) late++;
  }
  return late / requests.length;
}

describe("nobody is refused who has time", () => {
  test("a long prompt after twenty short ones", async () => {
    const short = Array.from({ length: 20 }, (_, index) => ({
      atMs: 100 * index,
      characters: 4,
      deadlineMs,
    }));
    const together = [2, 1000, 2, 2].map((characters) => ({ atMs: 3000, characters, deadlineMs }));
    const outcomes = await simulate([...short, ...together], () => 1);
    assert.equal(share(outcomes, "judged"), 1);
  });
  test("four prompts just after a first run that was slow, as the first of a process is", async () => {
    const noise = randomNumbers(1);
    let runs = 0;
    const first = { atMs: 0, characters: 4, deadlineMs };
    const together = Array.from({ length: 4 }, () => ({ atMs: 500, characters: 1500, deadlineMs }));
    const outcomes = await simulate([first, ...together], () => (runs++ === 0 ? 5 : 0.9 + 0.2 * noise()));
    assert.equal(share(outcomes, "judged"), 1);
  });
  test("eight long texts in bulk with seconds to go", async () => {
    const bulk = Array.from({ length: 8 }, () => ({
      atMs: 0,
      characters: 6000,
      deadlineMs: 8 * deadlineMs,
      isBulk: true,
    }));
    assert.equal(share(await simulate(bulk, () => 1), "judged"), 1);
  });
});

for (const seed of [1, 2, 3]) {
  test(`at 0.9 of what it can do hardly anybody is refused, seed ${seed}`, async () => {
    const outcomes = await simulate(mixed(0.9, 1000, [20, 600], seed), noisy(seed));
    assert.ok(share(outcomes, "overloaded") < 0.005);
    assert.ok(share(outcomes, "judged") > 0.99);
    assert.deepEqual(refusedWrongly(outcomes), []);
  });
  test(`at 0.9, with texts that take half of the deadline, fewer miss it than in turn, seed ${seed}`, async (context) => {
    const requests = mixed(0.9, 1000, [2, 8000], seed);
    const outcomes = await simulate(requests, () => 1);
    const missed = 1 - share(outcomes, "judged");
    context.diagnostic(`missed ${missed}, in turn ${lateInTurn(requests)}`);
    assert.ok(missed < lateInTurn(requests) / 2);
    assert.deepEqual(refusedWrongly(outcomes), []);
  });
  test(`at twice what it can do, more than twice as many are judged as in turn, seed ${seed}`, async (context) => {
    const requests = mixed(2, 1000, [2, 8000], seed);
    const outcomes = await simulate(requests, noisy(seed));
    const judged = share(outcomes, "judged");
    context.diagnostic(`judged ${judged}, in turn ${1 - lateInTurn(requests)}`);
    assert.ok(judged > 2 * (1 - lateInTurn(requests)));
  });
}
