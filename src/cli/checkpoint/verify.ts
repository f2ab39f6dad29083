// `verify`: compares a checkpoint on an encoder with its selftest or with a file of reference rows.
import * as z from "zod";
import type { Config } from "../../config/config.js";
import { JudgeError } from "../../errors.js";
import type { Judge } from "../../judge/judge-parts.js";
import { scoreBatches } from "../../judge/score.js";
import { readJsonLines } from "../../labels/json-lines.js";
import { wanted } from "../../labels/json-rows.js";
import { type CheckpointOnEncoder, withCheckpoint } from "../chosen-judges.js";
import { printable, type Terminal } from "../terminal.js";

export interface VerifyOptions extends CheckpointOnEncoder {
  /** JSON lines with prompt and probabilities; absent: the checkpoint's selftest */
  readonly prompts?: string | undefined;
}

const Row = z.looseObject({
  prompt: z.string(wanted("a string")).min(1, wanted("a prompt")),
  probabilities: z.record(z.string(), z.number(wanted("a number")), wanted("an object of numbers by output")),
});
/** For rows of another runtime without a selftest, which has a tolerance of its own. */
const defaultTolerance = 2e-3;

/**
 * @param config threads and configured encoders; its judges are not used
 * @throws JudgeError `checkpoint` when the two do not fit, or a probability differs beyond the tolerance
 */
export function verify(config: Config, options: VerifyOptions, terminal: Terminal): Promise<void> {
  return withCheckpoint(config, options, async (judge) => {
    const { selftest } = judge.checkpoint;
    const rows =
      options.prompts === undefined
        ? selftest?.prompts
        : await readJsonLines(
            options.prompts,
            Row,
            'a JSON object with "prompt" and "probabilities" by output',
          );
    if (rows === undefined || rows.length === 0) {
      const found =
        rows === undefined ? `${options.checkpoint} has no selftest` : `${options.prompts} has no rows`;
      throw new JudgeError("usage", { found, remedy: "give --prompts a file of reference rows" });
    }
    const tolerance = selftest?.tolerance ?? defaultTolerance;
    for (const line of await compare(judge, rows, tolerance)) terminal.print(line);
  });
}

async function compare(
  judge: Judge,
  rows: readonly z.infer<typeof Row>[],
  tolerance: number,
): Promise<string[]> {
  const names = judge.checkpoint.head.outputNames;
  const largest = new Map(names.map((name) => [name, 0]));
  let next = 0;
  for await (const batch of scoreBatches(
    judge,
    rows.map((row) => row.prompt),
  )) {
    for (const { raw, abstained } of batch) {
      const { probabilities } = rows[next++]!;
      if (abstained !== null)
        throw new JudgeError("checkpoint", { found: `row ${next} could not be judged: ${abstained}` });
      for (const name of names) {
        const difference = Math.abs(raw[name]! - (probabilities[name] ?? Number.NaN));
        if (!(difference <= tolerance)) {
          const finding = Number.isNaN(difference)
            ? "is missing in the row"
            : `differs by ${difference.toPrecision(3)}`;
          throw new JudgeError("checkpoint", {
            found: `row ${next}: output ${name} ${finding}`,
            wanted: `a difference of at most ${tolerance}`,
          });
        }
        largest.set(name, Math.max(largest.get(name)!, difference));
      }
    }
  }
  return [
    `${rows.length} rows agree within ${tolerance}`,
    ...[...largest].map(
      ([name, difference]) => `${printable(name)}: largest difference ${difference.toExponential(2)}`,
    ),
  ];
}
