// The parts of `doctor` that need no encoder: processors, versions, and lines of a terminal.
import assert from "node:assert/strict";
import { test } from "node:test";
import { examinedText, summaryText, toJson } from "../../../src/cli/serve/doctor-report.js";
import { nodeObservation, threadsObservation, threadsText } from "../../../src/doctor/process.js";
import { list, small } from "../../../src/doctor/text.js";
import { faultObservation, observation } from "../../../src/encoder/observation.js";
import { JudgeError } from "../../../src/errors.js";

test("Node is compared by its numbers, not its letters", () => {
  for (const version of ["20.19.0", "20.20.1", "22.0.0", "100.1.0"])
    assert.equal(nodeObservation(version, ">=20.19").status, "ok", version);
  for (const version of ["20.18.9", "18.30.0", "9.99.0"])
    assert.equal(nodeObservation(version, ">=20.19").status, "wrong", version);
});

test("more threads than processors are warned of with the number that fits", () => {
  assert.equal(threadsObservation({ threads: 2, processes: 1 }, 2).status, "ok");
  assert.equal(threadsObservation({ threads: 2, processes: 4 }, 8).status, "ok");
  for (const [threads, processes, processors, wanted] of [
    [8, 1, 2, "runtime.threads = 2:"],
    [2, 4, 7, "product is at most 7:"],
  ] as const) {
    const { status, advice } = threadsObservation({ threads, processes }, processors);
    assert.equal(status, "warning");
    assert.ok(advice!.includes(wanted), advice!);
  }
});

test("threads are told with the processes that have them", () => {
  assert.equal(threadsText(2, 1), "2 threads");
  assert.equal(threadsText(1, 1), "1 thread");
  assert.equal(threadsText(4, 2), "2 processes of 4 threads each");
});

test("an error becomes what was found and, apart from it, what to do", () => {
  const parts = { found: "it is gone", wanted: "a folder", remedy: "put it back; soon" };
  const fault = faultObservation("folder", new JudgeError("encoder", parts));
  assert.deepEqual([fault.found, fault.advice], ["it is gone, wanted a folder", "put it back; soon"]);
  assert.equal(faultObservation("folder", new JudgeError("encoder", { found: "it is gone" })).advice, null);
});

test("lines end at column 80; settings and lists that fit stay whole; control characters are replaced", () => {
  const setting = "captured_layers = [12, 13, 14], layer_offset = 1";
  const long = Array.from({ length: 60 }, (_, index) => index).join(", ");
  const text = examinedText({
    subject: "judge",
    id: "a\u001bb",
    findings: [
      observation("layers", "wrong", {
        found: "x ".repeat(60),
        advice: `the rows fit when ${setting}: set that`,
      }),
      observation("layers", "warning", { found: `[${long}]` }),
    ],
  });
  const lines = text.split("\n");
  assert.ok(
    lines.every((line) => line.length <= 80),
    text,
  );
  assert.ok(lines.some((line) => line.includes("captured_layers = [12, 13, 14],")));
  assert.equal(text.replace(/\s+/g, " ").includes(`[${long}]`), true);
  assert.equal(lines[1], "judge a\uFFFDb");
});

test("what is wrong is counted, warnings beside it", () => {
  const examined = (...statuses: ("ok" | "warning" | "wrong" | "skipped")[]) => [
    {
      subject: "process" as const,
      id: null,
      findings: statuses.map((status) => observation("x", status, { found: "y" })),
    },
  ];
  assert.match(summaryText(examined("ok", "skipped")), /All is well/);
  assert.match(summaryText(examined("ok", "warning")), /Nothing wrong, 1 warning\./);
  assert.match(summaryText(examined("wrong", "wrong", "warning")), /2 things wrong, 1 warning\./);
  for (const [statuses, ok] of [
    [["warning", "ok"], true],
    [["wrong"], false],
  ] as const)
    assert.equal(JSON.parse(toJson(examined(...statuses), "1")).ok, ok);
});

test("indices are shown in runs, differences by their size", () => {
  assert.equal(list([0, 1, 2, 5, 7, 8]), "0–2, 5, 7–8");
  assert.equal(list([]), "none");
  assert.deepEqual([0, 0.109, 0.00018].map(small), ["0", "0.11", "1.8e-4"]);
});
