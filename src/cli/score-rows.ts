// Runs a judge over many texts for the commands, with a progress bar on a terminal.
import { SingleBar } from "cli-progress";
import { JudgeError } from "../errors.js";
import type { Judge, Judgement } from "../judge/judge.js";
import { scoreBatches } from "../judge/score.js";
import type { Terminal } from "./terminal.js";

/** A started bar on a terminal; null elsewhere, and for nothing to do. */
export function progressBar(verb: string, total: number, { errorIsTerminal }: Terminal): SingleBar | null {
  if (!errorIsTerminal || total === 0) return null;
  const format = `${verb} [{bar}] {value}/{total} prompts, {eta} s left`;
  const bar = new SingleBar({ stream: process.stderr, format, linewrap: true });
  bar.start(total, 0);
  return bar;
}

/** Judgements in the order of `texts`, batch by batch. */
export async function* scoreWithProgress(
  judge: Judge,
  texts: readonly (string | null)[],
  terminal: Terminal,
): AsyncGenerator<Judgement[]> {
  const bar = progressBar("scoring", texts.length, terminal);
  try {
    for await (const batch of scoreBatches(judge, texts)) {
      yield batch;
      bar?.increment(batch.length);
    }
  } finally {
    bar?.stop();
  }
}

/**
 * The raw or calibrated probabilities, as the judge is configured, by output: [texts] each.
 *
 * @throws JudgeError `usage` when a text cannot be judged
 */
export async function predict(
  judge: Judge,
  texts: readonly string[],
  outputNames: readonly string[],
  terminal: Terminal,
): Promise<Float64Array[]> {
  const byOutput = outputNames.map(() => new Float64Array(texts.length));
  let row = 0;
  for await (const batch of scoreWithProgress(judge, texts, terminal)) {
    for (const { probabilities, abstained } of batch) {
      if (abstained !== null)
        throw new JudgeError("usage", `row ${row + 1} could not be judged: ${abstained}`);
      outputNames.forEach((name, output) => {
        byOutput[output]![row] = probabilities[name]!;
      });
      row++;
    }
  }
  return byOutput;
}
