// A model that takes fewer tokens than its files claim, in words.
import type { EncoderFacts } from "./encoder.js";

/** null for a model that takes what its files claim */
export function limitWarning({
  maxTokens,
  claimedTokens,
}: Pick<EncoderFacts, "maxTokens" | "claimedTokens">): string | null {
  if (claimedTokens === undefined) return null;
  const claim = claimedTokens === Number.MAX_SAFE_INTEGER ? "name no limit" : `claim ${claimedTokens} tokens`;
  return `the model's files ${claim}, and it runs ${maxTokens} at most`;
}
