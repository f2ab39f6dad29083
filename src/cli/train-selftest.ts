// The selftest of a training: what a few prompts come to on the machine that trained.
import type { Selftest } from "../checkpoint/selftest.js";
import type { Encoder, Tokens, View } from "../encoder/encoder.js";
import type { HeadWeights } from "../head/weights.js";
import { selectRows } from "../train/folds.js";
import { predictTable } from "../train/predict.js";
import type { Table } from "../train/scaler.js";
import type { Terminal } from "./terminal.js";

const selftestRows = 5;
const selftestTolerance = 1e-4;

/** A few of the shortest prompts with what this program computes: tells later that nothing has changed since. */
export async function makeSelftest(
  encoder: Encoder,
  view: View,
  {
    weights,
    table,
    texts,
  }: {
    weights: HeadWeights;
    table: Table;
    texts: readonly string[];
  },
  { version }: Terminal,
): Promise<Selftest> {
  const chosen = Uint32Array.from(
    [...texts.keys()].sort((a, b) => texts[a]!.length - texts[b]!.length || a - b).slice(0, selftestRows),
  );
  const prompts = [...chosen].map((row) => texts[row]!);
  const tokens = await encoder.tokenize(prompts, view);
  const predicted = predictTable(weights, selectRows(table, chosen));
  const outputs = weights.outputNames.length;
  return {
    reference: `prefill-judge ${version}, at the end of the training`,
    tolerance: selftestTolerance,
    files: Object.fromEntries(
      Object.entries(encoder.facts.files).map(([name, hash]) => [`encoder/${name}`, hash]),
    ),
    prompts: prompts.map((prompt, index) => ({
      prompt,
      inputIds: (tokens[index] as Tokens).ids,
      probabilities: Object.fromEntries(
        weights.outputNames.map((name, output) => [name, predicted[index * outputs + output]!]),
      ),
    })),
  };
}
