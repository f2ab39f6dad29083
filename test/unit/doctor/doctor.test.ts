// The parts of `doctor` that need no encoder: processors, versions, and lines of a terminal.
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultFinding, finding } from "../../../src/doctor/finding.js";
import { nodeFinding, threadsFinding, threadsText } from "../../../src/doctor/process.js";
import { sectionText, summaryText, toJson } from "../../../src/doctor/report.js";
import { list, small } from "../../../src/doctor/text.js";

test("Node is compared by its numbers, not its letters", () => {
  for (const version of ["20.19.0", "20.20.1", "22.0.0", "100.1.0"])
    assert.equal(nodeFinding(version, ">=20.19").status, "ok", version);
  for (const version of ["20.18.9", "18.30.0", "9.99.0"])
    assert.equal(nodeFinding(version, ">=20.19").status, "wrong", version);
});

test("more threads than processors are warned of with the number that fits", () => {
  assert.equal(threadsFinding({ threads: 2, processes: 1 }, 2).status, "ok");
  assert.equal(threadsFinding({ threads: 2, processes: 4 }, 8).status, "ok");
  for (const [threads, processes, processors, wanted] of [
    [8, 1, 2, "runtime.threads = 2:"],
    [2, 4, 7, "product is at most 7:"],
  ] as const) {
    const { status, advice } = threadsFinding({ threads, processes }, processors);
    assert.equal(status, "warning");
    assert.ok(advice!.includes(wanted), advice!);
  }
});

test("threads are told with the processes that have them", () => {
  assert.equal(threadsText(2, 1), "2 threads");
  assert.equal(threadsText(1, 1), "1 thread");
  assert.equal(threadsText(4, 2), "2 processes of 4 threads each");
});

test("a message is a finding and, after its first semicolon, what to do", () => {
  const fault = faultFinding("folder", "it is gone; put it back; soon");
  assert.deepEqual([fault.found, fault.advice], ["it is gone", "put it back; soon"]);
  assert.equal(faultFinding("folder", "it is gone").advice, null);
});

test("lines end at column 80; settings and lists that fit stay whole; control characters are replaced", () => {
  const setting = "captured_layers = [12, 13, 14], layer_offset = 1";
  const long = Array.from({ length: 60 }, (_, index) => index).join(", ");
  const text = sectionText({
    subject: "judge",
    id: "a\u001bb",
    findings: [
      finding("layers", "wrong", "x ".repeat(60), `the rows fit when ${setting}: set that`),
      finding("layers", "warning", `[${long}]`),
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
  const section = (...statuses: ("ok" | "warning" | "wrong" | "skipped")[]) => [
    { subject: "process" as const, id: null, findings: statuses.map((status) => finding("x", status, "y")) },
  ];
  assert.match(summaryText(section("ok", "skipped")), /All is well/);
  assert.match(summaryText(section("ok", "warning")), /Nothing wrong, 1 warning\./);
  assert.match(summaryText(section("wrong", "wrong", "warning")), /2 things wrong, 1 warning\./);
  for (const [statuses, ok] of [
    [["warning", "ok"], true],
    [["wrong"], false],
  ] as const)
    assert.equal(JSON.parse(toJson(section(...statuses), "1")).ok, ok);
});

test("indices are shown in runs, differences by their size", () => {
  assert.equal(list([0, 1, 2, 5, 7, 8]), "0–2, 5, 7–8");
  assert.equal(list([]), "none");
  assert.deepEqual([0, 0.109, 0.00018].map(small), ["0", "0.11", "1.8e-4"]);
});
