// The fixed sentences of a verdict, read from prompts/crux.json, with {judge}, {checkpoint} and {message}.
import * as z from "zod";
import { JudgeError } from "../errors.js";
import { type AbstainReason, abstainReasons } from "../judge/abstention-reasons.js";
import type { JudgedMessage } from "../prompt/judged-text.js";

/** Texts and, at the odd places, the names of the placeholders between them. */
const Sentence = z
  .string()
  .trim()
  .min(1)
  .transform((text): readonly string[] => text.split(/\{(judge|checkpoint|message)\}/));

const CruxSentences = z.strictObject({
  judged: Sentence,
  abstained: z.record(z.enum(abstainReasons), Sentence),
});
export type CruxSentences = z.infer<typeof CruxSentences>;

/** @throws JudgeError `config` naming the sentence that is missing or wrong */
export function parseCruxSentences(content: unknown): CruxSentences {
  const result = CruxSentences.safeParse(content);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new JudgeError("config", {
    found: `prompts/crux.json: ${issue.path.join(".") || "the file"}: ${issue.message}`,
  });
}

/** The sentence for a judged prompt, or for an abstention with `reason`. */
export function crux(
  sentences: CruxSentences,
  made: { judge: string; checkpoint: string; message: JudgedMessage },
  reason: AbstainReason | null,
): string {
  const sentence = reason === null ? sentences.judged : sentences.abstained[reason];
  return sentence
    .map((piece, place) => (place % 2 === 0 ? piece : made[piece as keyof typeof made]))
    .join("");
}
