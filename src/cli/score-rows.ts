// Runs judges over many texts for the commands, with a progress bar on a terminal.
import { SingleBar } from "cli-progress";
import { JudgeError } from "../errors.js";
import type { Judge } from "../judge/judge-parts.js";
import type { Judgement } from "../judge/judgement.js";
import { scoreBatches } from "../judge/score.js";
import { promptText } from "../prompt/judged-text.js";
import { inBulk } from "./in-bulk.js";
import type { Terminal } from "./terminal.js";

/** A started progress bar; null if standard error is no terminal or there is nothing to do. */
export function progressBar(verb: string, total: number, { errorMovesCursor }: Terminal): SingleBar | null {
  if (!errorMovesCursor || total === 0) return null;
  const format = `${verb} [{bar}] {value}/{total} prompts, {eta} s left`;
  const bar = new SingleBar({ stream: process.stderr, format, linewrap: true });
  bar.start(total, 0);
  return bar;
}

/** The judgements batch by batch, in the order of `texts`. */
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
 * The probabilities by judge and output, [texts] each, raw or calibrated as the judge is configured. Every
 * batch goes to all judges at once, so that judges of one encoder and view share its runs. Each takes off the
 * envelopes that it takes off in service.
 * @throws JudgeError `usage` when a text cannot be judged
 */
export async function predict(
  judges: readonly Judge[],
  texts: readonly string[],
  terminal: Terminal,
): Promise<ReadonlyMap<string, Float64Array>[]> {
  const predicted = judges.map(({ checkpoint }) => {
    return new Map(checkpoint.head.outputNames.map((name) => [name, new Float64Array(texts.length)]));
  });
  const bar = progressBar("scoring", texts.length, terminal);
  try {
    const processes = Math.max(...judges.map(({ encoder }) => encoder.facts.processes));
    await inBulk(texts, processes, async (batch, places) => {
      const readBy = ({ envelopes }: Judge) => batch.map((text) => promptText(text, envelopes).text);
      const results = await Promise.all(judges.map((judge) => judge.judge(readBy(judge))));
      results.forEach((judgements, index) => {
        fill(predicted[index]!, places, { judge: judges[index]!, judgements });
      });
      bar?.increment(batch.length);
    });
  } finally {
    bar?.stop();
  }
  return predicted;
}

function fill(
  byOutput: ReadonlyMap<string, Float64Array>,
  places: readonly number[],
  { judge, judgements }: { judge: Judge; judgements: readonly Judgement[] },
): void {
  judgements.forEach(({ probabilities, abstained }, index) => {
    const row = places[index]!;
    if (abstained !== null)
      throw new JudgeError("usage", {
        found: `row ${row + 1} could not be judged by ${judge.id}: ${abstained}`,
      });
    for (const [name, values] of byOutput) values[row] = probabilities[name]!;
  });
}
