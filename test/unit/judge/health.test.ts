// When a judge counts as one that gives answers: what raises a suspicion, what the known good text decides,
// and what ends it.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { JudgeError } from "../../../src/errors.js";
import { createHealth, type Health } from "../../../src/judge/health.js";

const pauseMs = 1000;
const deadlineMs = 2000;
const encoderError = new JudgeError("encoder_error", { found: "the encoder failed on this text" });
const deadline = new JudgeError("deadline", { found: "too late" });

interface Subject {
  readonly health: Health;
  /** what was told: a code, or null */
  readonly told: (string | null)[];
  /** so many probes were made */
  probes(): number;
  /** What the probes come to from now on; `hangs`: nothing, whoever waits. */
  answer: JudgeError | "hangs" | null;
  wait(ms: number): Promise<void>;
}

async function withHealth(work: (subject: Subject) => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ["setTimeout"] });
  let nowMs = 0;
  let probes = 0;
  const told: (string | null)[] = [];
  const health = createHealth({
    deadlineMs,
    pauseMs,
    clock: () => nowMs,
    onChange: (fault) => void told.push(fault?.code ?? null),
    async probe() {
      probes++;
      if (subject.answer === "hangs") await new Promise(() => {});
      else if (subject.answer !== null) throw subject.answer;
    },
  });
  const subject: Subject = {
    health,
    told,
    probes: () => probes,
    answer: null,
    async wait(ms) {
      nowMs += ms;
      mock.timers.tick(ms);
      await turn();
    },
  };
  try {
    await work(subject);
  } finally {
    health.close();
    mock.timers.reset();
  }
}

const failMany = async ({ health }: Subject, count: number, error = encoderError) => {
  for (let index = 0; index < count; index++) health.failed(error);
  await turn();
};

test("errors with answers between them are the texts' own, and nothing is probed", async () => {
  await withHealth(async (subject) => {
    subject.answer = encoderError;
    for (let round = 0; round < 20; round++) {
      await failMany(subject, 2);
      subject.health.answered();
      await subject.wait(pauseMs);
    }
    assert.deepEqual([subject.health.isGood, subject.probes(), subject.told], [true, 0, []]);
  });
});

test("errors only, and the known text fails too: no answers come out, until the known text has one", async () => {
  await withHealth(async (subject) => {
    subject.answer = encoderError;
    await failMany(subject, 3);
    assert.deepEqual([subject.health.isGood, subject.told], [false, ["encoder_error"]]);
    for (let probes = 2; probes < 5; probes++) {
      await subject.wait(pauseMs);
      assert.deepEqual([subject.health.isGood, subject.probes()], [false, probes]);
    }
    subject.answer = null;
    await subject.wait(pauseMs);
    assert.deepEqual([subject.health.isGood, subject.told], [true, ["encoder_error", null]]);
    await subject.wait(10 * pauseMs);
    assert.equal(subject.probes(), 5);
  });
});

test("texts that fail by their own fault only do not make it bad, and cost a probe in a while", async () => {
  await withHealth(async (subject) => {
    for (let second = 0; second < 10; second++) {
      await failMany(subject, 500);
      await subject.wait(pauseMs);
    }
    assert.deepEqual([subject.health.isGood, subject.probes(), subject.told], [true, 10, []]);
  });
});

test("silence for longer than the deadline, of the known text too, is bad; an answer to anybody ends it", async () => {
  await withHealth(async (subject) => {
    subject.answer = "hangs";
    await failMany(subject, 1, deadline);
    assert.deepEqual([subject.health.isGood, subject.probes()], [true, 1]);
    await subject.wait(deadlineMs);
    assert.deepEqual([subject.health.isGood, subject.told], [false, ["deadline"]]);
    subject.health.answered();
    assert.deepEqual([subject.health.isGood, subject.told], [true, ["deadline", null]]);
    await subject.wait(10 * pauseMs);
    assert.equal(subject.probes(), 1);
  });
});

test("late answers while others are in time mean load: nothing is probed, or the probe's own lateness counts for nothing", async () => {
  await withHealth(async (subject) => {
    subject.answer = "hangs";
    subject.health.answered();
    await failMany(subject, 50, deadline);
    assert.equal(subject.probes(), 0);
    await subject.wait(deadlineMs + 1);
    await failMany(subject, 1, deadline);
    assert.equal(subject.probes(), 1);
    await subject.wait(deadlineMs / 2);
    subject.health.answered();
    await subject.wait(deadlineMs / 2);
    assert.deepEqual([subject.health.isGood, subject.told], [true, []]);
  });
});

test("a process that is down, or has too much to do, is no finding of the probe's", async () => {
  await withHealth(async (subject) => {
    for (const code of ["encoder_down", "overloaded"] as const) {
      subject.answer = new JudgeError(code, { found: code });
      await failMany(subject, 5, subject.answer);
      await failMany(subject, 3);
      await subject.wait(pauseMs);
    }
    assert.deepEqual([subject.health.isGood, subject.probes(), subject.told], [true, 2, []]);
  });
});

test("after the end nothing is probed or told", async () => {
  await withHealth(async (subject) => {
    subject.answer = encoderError;
    await failMany(subject, 3);
    subject.health.close();
    subject.answer = null;
    await subject.wait(5 * pauseMs);
    await failMany(subject, 3);
    subject.health.answered();
    assert.deepEqual([subject.probes(), subject.told], [1, ["encoder_error"]]);
  });
});
