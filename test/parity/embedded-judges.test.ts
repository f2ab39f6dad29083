// Both embedded judges against their reference rows (reference.py: onnxruntime 1.32 and numpy): token ids,
// pooled vectors and probabilities of the whole pipeline, before and after calibration.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { loadConfig } from "../../src/config/config.js";
import type { Encoding, Tokens } from "../../src/encoder/encoder.js";
import type { View } from "../../src/encoder/view.js";
import { requiredFeatures } from "../../src/head/head.js";
import type { Judge } from "../../src/judge/judge-parts.js";
import { createLog } from "../../src/observe/log.js";
import { createMetrics } from "../../src/observe/metrics.js";
import { composeJudges, type Judges } from "../../src/server/judges.js";
import { largestDifference, packagePath, parityRows } from "../support/fixtures.js";

const subjects = [
  { id: "prefill-judge", checkpoint: "smollm2-135m", template: "chat", tolerance: 1e-4 },
  { id: "prefill-judge-fast", checkpoint: "minilm-l6", template: "none", tolerance: 2e-3 },
] as const;

/** A row that is one unknown word to a vocabulary: it has reference values, and is not judged. */
function isUnknown(abstained: string | null, prompt: string): boolean {
  if (abstained !== null) assert.deepEqual([abstained, /^a{100,}$/.test(prompt)], ["unreadable_text", true]);
  return abstained !== null;
}

describe("embedded judges", () => {
  let judges: Judges;
  before(async () => {
    const config = loadConfig({
      env: {},
      flags: { "--deadline-ms": "600000" },
      packageRoot: packagePath(""),
    });
    // the reference reads runs of spaces as they are
    const asTrained = config.judges.map((judge) => ({ ...judge, spaces: "keep" as const }));
    judges = await composeJudges(
      { ...config, judges: asTrained },
      {
        log: createLog({ write() {} }, "silent"),
        metrics: createMetrics(),
      },
    );
    await judges.start();
  });
  after(() => judges.close());

  for (const { id, checkpoint, template, tolerance } of subjects) {
    const rows = parityRows(checkpoint);
    const prompts = rows.map((row) => row.prompt);
    const judge = (): Judge => judges.registry.find(id).judge;
    const view: View = { template, maxTokens: 512, truncation: "middle" };

    test(`${id}: token ids equal the reference on all ${rows.length} prompts`, async () => {
      const tokens = await judge().encoder.tokenize(prompts, view);
      rows.forEach((row, index) => {
        assert.deepEqual((tokens[index] as Tokens).ids, row.input_ids, `row ${index}`);
      });
    });

    test(`${id}: pooled vectors are those of the reference`, async (context) => {
      const features = requiredFeatures(judge().checkpoint.head);
      const { encodings } = await judge().encoder.encode(prompts, { view, ...features });
      let largest = 0;
      rows.forEach((row, index) => {
        const [vector] = [...(encodings[index] as Encoding).pooled.values()];
        const norm = Math.hypot(...vector!);
        largest = Math.max(largest, Math.abs(norm - row.pooled_norm) / row.pooled_norm);
        largest = Math.max(
          largest,
          largestDifference(vector!.slice(0, 8), row.pooled_first8) / row.pooled_norm,
        );
      });
      context.diagnostic(`largest difference over the norm: ${largest.toExponential(2)}`);
      assert.ok(largest <= 1e-3, `differs by ${largest}`);
    });

    for (const together of [false, true]) {
      test(`${id}: probabilities ${together ? "in batches" : "one by one"} within ${tolerance}`, async (context) => {
        const size = together ? 16 : 1;
        let largest = 0;
        for (let start = 0; start < rows.length; start += size) {
          const judgements = await judge().judge(prompts.slice(start, start + size));
          judgements.forEach((judgement, offset) => {
            if (isUnknown(judgement.abstained, prompts[start + offset]!)) return;
            for (const kind of ["raw", "probabilities"] as const) {
              const [found, wanted] = [judgement[kind], rows[start + offset]![kind]];
              assert.deepEqual(Object.keys(found), Object.keys(wanted));
              const difference = largestDifference(Object.values(found), Object.values(wanted));
              largest = Math.max(largest, difference);
            }
            assert.equal(judgement.pSolve, judgement.probabilities["mistralai/Mixtral-8x7B-Instruct-v0.1"]);
          });
        }
        context.diagnostic(`largest difference: ${largest.toExponential(2)}`);
        assert.ok(largest <= tolerance, `differs by ${largest}`);
      });
    }
  }

  for (const { id, checkpoint, tolerance } of subjects) {
    test(`${id}: the reference rows tell calibrated from raw, and prompts from one another`, () => {
      const rows = parityRows(checkpoint);
      const weak = (kind: "raw" | "probabilities") => rows.map((row) => Object.values(row[kind])[0]!);
      assert.ok(largestDifference(weak("raw"), weak("probabilities")) > 5 * tolerance);
      assert.ok(Math.max(...weak("raw")) - Math.min(...weak("raw")) > 0.3);
    });
  }

  test("the two judges give different p for one prompt", async () => {
    const [one] = await judges.registry.find("prefill-judge").judge.judge(["Prove that 7 is prime."]);
    const [other] = await judges.registry.find("prefill-judge-fast").judge.judge(["Prove that 7 is prime."]);
    assert.ok(Math.abs(one!.pSolve! - other!.pSolve!) > 0.01);
  });
});
