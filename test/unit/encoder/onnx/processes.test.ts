// Several processes of one encoder: who gets a run, and what is left when one dies.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Tokens } from "../../../../src/encoder/encoder.js";
import { createProcesses } from "../../../../src/encoder/onnx/processes.js";
import type { Answer } from "../../../../src/encoder/onnx/protocol.js";
import { withHugePages } from "../../../../src/encoder/onnx/spawn.js";
import { inTime, type Mode, supervise, until, workOf } from "../../../support/onnx/supervised.js";
import { rejection } from "../../../support/refusal.js";

function pooled(context: TestContext, modes: readonly (readonly Mode[])[], backOffMs?: readonly number[]) {
  const members = modes.map((mode) => supervise(context, mode, backOffMs));
  return { processes: createProcesses(members.map(({ supervisor }) => supervisor)), members };
}

/** works that the answering process had received */
function received(answer: Answer): number {
  assert.equal(answer.kind, "tokenized");
  const [entry] = (answer as Extract<Answer, { kind: "tokenized" }>).tokens;
  return (entry as Tokens).ids[1]!;
}

test("runs at the same time go to processes of their own", async (context) => {
  const { processes, members } = pooled(context, [["ready"], ["ready"]]);
  await inTime(processes.start());
  assert.deepEqual(
    processes.pids,
    members.map(({ children }) => children[0]!.pid),
  );
  assert.equal(processes.upCount, 2);
  for (let round = 1; round <= 2; round++) {
    const answers = await inTime(
      Promise.all([workOf("slow"), workOf("")].map((work) => processes.run(work))),
    );
    assert.deepEqual(answers.map(received), [round, round]);
  }
});

test("while one is gone the other works on, and there is one run at a time", async (context) => {
  const { processes, members } = pooled(context, [["ready", "silent"], ["ready"]]);
  await inTime(processes.start());
  process.kill(members[0]!.children[0]!.pid!, "SIGKILL");
  await until(() => !members[0]!.supervisor.up);
  assert.equal(processes.upCount, 1);
  assert.equal(received(await inTime(processes.run(workOf("")))), 1);
  assert.equal(received(await inTime(processes.run(workOf("")))), 2);
  assert.equal(received(await inTime(processes.run(workOf("")))), 3);
});

test("with none left every work is refused", async (context) => {
  const { processes, members } = pooled(context, [["ready"], ["ready"]], [50]);
  await inTime(processes.start());
  for (const { children } of members) process.kill(children[0]!.pid!, "SIGKILL");
  await until(() => processes.upCount === 0);
  await rejection("encoder_down", processes.run(workOf("")));
  await until(() => processes.loading);
  await until(() => processes.upCount === 2 && !processes.loading);
  assert.equal(received(await inTime(processes.run(workOf("")))), 1);
});

test("a pool of which one cannot load does not start, and leaves nothing running", async (context) => {
  const { processes, members } = pooled(context, [["ready"], ["refuses"]]);
  await rejection("encoder", inTime(processes.start()));
  await until(() => members.every(({ children }) => children.every(isGone)));
  assert.equal(processes.upCount, 0);
});

function isGone({ exitCode, signalCode }: { exitCode: number | null; signalCode: string | null }): boolean {
  return exitCode !== null || signalCode !== null;
}

test("huge pages are asked for beside the user's own settings, and not against them", () => {
  assert.equal(withHugePages(undefined), "glibc.malloc.hugetlb=1");
  assert.equal(withHugePages("glibc.malloc.check=1"), "glibc.malloc.check=1:glibc.malloc.hugetlb=1");
  assert.equal(withHugePages("glibc.malloc.hugetlb=0"), "glibc.malloc.hugetlb=0");
});
