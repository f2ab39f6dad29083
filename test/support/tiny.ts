// The tiny encoder of the fixtures, real and not started, and the parts of a judge on it.
import type { Encoder } from "../../src/encoder/encoder.js";
import { createOnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import type { JudgeParts } from "../../src/judge/judge-parts.js";
import { createProbabilityCache } from "../../src/judge/probability-cache.js";
import { createSharedRuns } from "../../src/judge/shared-runs.js";
import { fixturePath } from "./fixtures.js";

export function tinyEncoder(): Encoder {
  return createOnnxEncoder({
    id: "tiny",
    modelName: null,
    folder: fixturePath("tiny-encoder"),
    threads: 1,
    processes: 1,
    limits: { maxBatch: 32, maxBatchTokens: 1024, maxWaitMs: 0, queueLimit: 256 },
    events: { up() {}, down() {} },
  });
}

/** The parts of a judge `tiny-judge` whose p_solve is the output `weak`. */
export function tinyParts(
  given: Pick<JudgeParts, "encoder" | "checkpoint"> & Partial<JudgeParts>,
): JudgeParts {
  return {
    id: "tiny-judge",
    aliases: [],
    output: "weak",
    maxTokens: null,
    truncation: "middle",
    spaces: null,
    envelopes: [],
    onTruncation: "judge",
    message: "first",
    calibration: "on",
    acceptEncoder: null,
    cache: createProbabilityCache(0),
    sharedRuns: createSharedRuns(),
    deadlineMs: 10_000,
    clock: () => performance.now(),
    onFault: () => {},
    onHealth: () => {},
    ...given,
  };
}
