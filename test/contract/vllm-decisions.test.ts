// Trained judges on what a real vLLM server recorded, beside the same judges on the encoder in this process:
// whichever way a prompt's hidden states come, it is routed alike.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { type Checkpoint, loadCheckpoint } from "../../src/checkpoint/load.js";
import type { Encoder, Encoding } from "../../src/encoder/encoder.js";
import type { View } from "../../src/encoder/view.js";
import type { PooledKey } from "../../src/features/pooled.js";
import type { PoolingMode } from "../../src/features/pooling.js";
import type { FeatureBlock, HeadWeights } from "../../src/head/weights.js";
import { createJudge } from "../../src/judge/judge.js";
import { fitHead } from "../../src/train/fit/fit.js";
import { fixturePath, packagePath } from "../support/fixtures.js";
import { tinyEncoder, tinyParts } from "../support/tiny.js";
import { smallRecipe } from "../support/train/fit-reference.js";
import { vllmEncoder, vllmFolders } from "../support/vllm/encoder.js";
import { recordedCalls, startVllmServer } from "../support/vllm/server.js";

const captured = [0, 1, 4, 8];
const view: View = { template: "chat", maxTokens: 400, truncation: "middle" };
/** README recommends a base_threshold of 0.8 and chooses others with `calibrate`. */
const thresholds = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
const heads: readonly (readonly [layers: readonly number[], pooling: PoolingMode])[] = [
  [[0], "mean"],
  [[1], "last"],
  [[4], "mean"],
  [[4], "last"],
  [[0, 1, 4], "mean"],
];
/** solved by the measured model, and not: on either side of every threshold */
const outputs = ["weak", "unsolved"];
/** float32: rounding alone. bfloat16: the model itself ran in it; its steps are 2^-8 of a value. */
const tolerances = { float32: 1e-4, bfloat16: 2e-2 } as const;

let here: Encoder;
let checkpoints: Checkpoint[];

interface Task {
  readonly prompt: string;
  readonly labels: Readonly<Record<string, boolean>>;
}

/** The first tasks with their measured labels. */
function tasks(): Task[] {
  const lines = readFileSync(packagePath("prompts/tasks.jsonl"), "utf8").split("\n", 240);
  return lines.map((line) => JSON.parse(line) as Task);
}

/** A head for each choice of layers and mode, trained on the encoder in this process. */
async function train(): Promise<HeadWeights[]> {
  const rows = tasks();
  const texts = rows.map(({ prompt }) => prompt);
  const options = { view, layers: [0, 1, 4], pooling: ["mean", "last"] } as const;
  const encodings = (await here.encode(texts, options)).encodings as readonly Encoding[];
  const labels = rows.map((row) => {
    const [solved] = Object.values(row.labels);
    return { labels: [Number(solved), Number(!solved)], samples: [1, 1], weight: 1 };
  });
  const { hiddenSize } = here.facts;
  const trained = heads.map(async ([layers, pooling]) => {
    const data = encodings.map(({ pooled }) =>
      layers.flatMap((layer) => [...pooled.get(`${layer}.${pooling}`)!]),
    );
    const table = { rows: rows.length, columns: data[0]!.length, data: Float32Array.from(data.flat()) };
    const input = { view: { layers, pooling, hiddenSize }, table, outputNames: outputs, labels };
    return (await fitHead(input, { pcaSize: 12, recipe: smallRecipe, seeds: [42, 43, 44], keep: 2 })).weights;
  });
  return await Promise.all(trained);
}

/** p_solve of every prompt, for each output. */
async function judgeAll(encoder: Encoder, checkpoint: Checkpoint, prompts: readonly string[]) {
  const probabilities: number[] = [];
  for (const output of outputs) {
    const judge = createJudge(tinyParts({ encoder, checkpoint, output, maxTokens: view.maxTokens }));
    await judge.prepare();
    for (const { pSolve, abstained } of await judge.judge(prompts)) {
      assert.equal(abstained, null);
      probabilities.push(pSolve!);
    }
  }
  return probabilities;
}

before(async () => {
  here = tinyEncoder();
  await here.start();
  const original = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));
  checkpoints = (await train()).map((head) => ({ ...original, head }));
});
after(() => here.close());

for (const name of ["float32", "bfloat16"] as const) {
  describe(`recorded files of a real server, ${name}`, () => {
    const folders = vllmFolders();
    const recorded = recordedCalls(name);
    const prompts = recorded.map(({ prompt }) => prompt);
    let far: Encoder;
    let close: () => Promise<void>;

    before(async () => {
      const server = await startVllmServer({ ...folders, layers: captured, recorded });
      far = vllmEncoder({ url: server.url, root: folders.root, layers: captured });
      await far.start();
      close = async () => {
        await far.close();
        await server.close();
        folders.remove();
      };
    });
    after(() => close());

    test(`p_solve within ${tolerances[name]}, and every decision as in this process`, async (context) => {
      let largest = 0;
      let [compared, between] = [0, 0];
      const seen: number[] = [];
      for (const checkpoint of checkpoints) {
        const [wanted, found] = [
          await judgeAll(here, checkpoint, prompts),
          await judgeAll(far, checkpoint, prompts),
        ];
        wanted.forEach((p, index) => {
          const other = found[index]!;
          largest = Math.max(largest, Math.abs(p - other));
          for (const threshold of thresholds) {
            compared++;
            if (p >= threshold !== other >= threshold) between++;
          }
        });
        seen.push(...wanted);
        const ofOne = wanted.slice(0, prompts.length);
        assert.ok(Math.max(...ofOne) - Math.min(...ofOne) > 0.01, `a head tells nothing apart: ${ofOne}`);
      }
      context.diagnostic(`p_solve ${seen.map((p) => p.toFixed(3)).join(" ")}`);
      context.diagnostic(`largest difference ${largest.toExponential(2)}; ${compared} decisions compared`);
      assert.ok(largest <= tolerances[name], `differs by ${largest}`);
      assert.equal(between, 0);
      for (const threshold of thresholds) {
        assert.equal(new Set(seen.map((p) => p >= threshold)).size, 2, `all on one side of ${threshold}`);
      }
    });

    test("features, as the head's scaler standardises them, within 2e-2", async (context) => {
      const options = { view, layers: [0, 1, 4], pooling: ["mean", "last"] } as const;
      const [wanted, found] = [await here.encode(prompts, options), await far.encode(prompts, options)];
      let largest = 0;
      for (const { head } of checkpoints) {
        const [block] = head.blocks;
        prompts.forEach((_, index) => {
          const [one, other] = [wanted, found].map(({ encodings }) => encodings[index] as Encoding);
          largest = Math.max(largest, standardisedError(block!, one!, other!));
        });
      }
      context.diagnostic(`largest relative error of a standardised vector ${largest.toExponential(2)}`);
      assert.ok(largest <= tolerances[name]);
    });
  });
}

/** Euclidean distance of two vectors after the scaler, over the norm of the first. */
function standardisedError(block: FeatureBlock, wanted: Encoding, found: Encoding): number {
  const standardised = ({ pooled }: Encoding) =>
    block.layers.flatMap((layer, place) => {
      const key: PooledKey = `${layer}.${block.pooling}`;
      return [...pooled.get(key)!].map((value, index) => {
        const at = place * block.hiddenSize + index;
        return (value - block.scalerMean[at]!) / block.scalerScale[at]!;
      });
    });
  const [a, b] = [standardised(wanted), standardised(found)];
  return Math.hypot(...a.map((value, index) => value - b[index]!)) / Math.hypot(...a);
}
