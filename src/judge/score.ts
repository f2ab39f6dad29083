// Many texts through one judge, in batches, so that other callers get their turn in between.
import type { Judge, JudgeOptions } from "./judge-parts.js";
import type { Judgement } from "./judgement.js";

const batchSize = 8;

/** Judgements in the order of `texts`, batch by batch; null stands for a text with nothing to read. */
export async function* scoreBatches(
  judge: Judge,
  texts: readonly (string | null)[],
  options?: JudgeOptions,
): AsyncGenerator<Judgement[]> {
  for (let start = 0; start < texts.length; start += batchSize) {
    yield await judge.judge(texts.slice(start, start + batchSize), options);
  }
}
