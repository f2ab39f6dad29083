// A judgement as the assistant's message.
import type { Judge, Judgement } from "../judge/judge.js";
import { abstainingVerdict } from "../verdict/abstention.js";
import { renderVerdict } from "../verdict/capability.js";
import { type CruxSentences, crux } from "../verdict/crux.js";

/** The verdict's JSON for a judgement or an abstention. */
export function renderContent(
  sentences: CruxSentences,
  judge: Judge,
  { pSolve, abstained }: Judgement,
): string {
  const sentence = crux(
    sentences,
    { judge: judge.id, checkpoint: judge.checkpoint.hash, message: judge.message },
    abstained,
  );
  if (pSolve === null) return renderVerdict(abstainingVerdict(sentence));
  return renderVerdict({ crux: sentence, primaryRule: judge.primaryRule, pSolve });
}
