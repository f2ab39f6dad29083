// A selftest made anew, of what an encoder gives now: where it runs in another precision, the one that a
// checkpoint came with is not passed.
import { type Checkpoint, loadCheckpoint } from "../../checkpoint/load.js";
import type { Selftest } from "../../checkpoint/selftest.js";
import type { Config } from "../../config/config.js";
import { JudgeError } from "../../errors.js";
import { probabilities, requiredFeatures } from "../../head/head.js";
import { type CheckpointOnEncoder, withCheckpoint } from "../chosen-judges.js";
import type { Terminal } from "../terminal.js";
import { makeSelftest, readPrompts, tokenizePrompts } from "../train/train-selftest.js";

export interface RecordOptions extends CheckpointOnEncoder {
  /** file of prompts; absent: those of the checkpoint's own selftest */
  readonly prompts: string | undefined;
}

/**
 * @throws JudgeError `usage` where there are no prompts; `checkpoint` when checkpoint and encoder do not fit
 */
export async function recordSelftest(
  config: Config,
  options: RecordOptions,
  { version }: Terminal,
): Promise<Selftest> {
  const checkpoint = await loadCheckpoint(options.checkpoint);
  const texts = await promptTexts(checkpoint, options);
  const loaded = { ...checkpoint, selftest: null };
  return await withCheckpoint(config, { ...options, loaded }, async (judge) => {
    const { encoder } = judge;
    const { head } = judge.checkpoint;
    const view = judge.view();
    const prompts = await tokenizePrompts(encoder, view, texts);
    const { encodings } = await encoder.encode(texts, { view, ...requiredFeatures(head) });
    const predicted = encodings.flatMap((encoding) => {
      if (encoding instanceof JudgeError) throw encoding;
      return [...probabilities(head, encoding.pooled)];
    });
    const reference = `prefill-judge ${version}, by convert on ${encoder.facts.device}`;
    return makeSelftest(encoder, { outputNames: head.outputNames, prompts, predicted, reference });
  });
}

async function promptTexts(
  { selftest }: Pick<Checkpoint, "selftest">,
  { prompts: file, checkpoint }: RecordOptions,
): Promise<string[]> {
  const texts =
    file === undefined ? (selftest?.prompts ?? []).map(({ prompt }) => prompt) : await readPrompts(file);
  if (texts.length > 0) return texts;
  throw new JudgeError("usage", {
    found: file === undefined ? `${checkpoint} has no selftest with prompts` : `${file} has no prompt`,
    remedy: "give --selftest a file of prompts",
  });
}
